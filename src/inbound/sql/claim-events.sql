-- Reads events of the lanes that no other worker holds; these lanes are this transaction's until it ends. It takes the oldest
-- events of each number in rotation, small bodies first, so that no number takes the place of others: at most `most`, and
-- no more once their bodies have `most_bytes`, but at least one. Processes of the version before `proves_items` take every item
-- of an event: they get none of which each item has to prove its number.
create function claim_events(requested smallint[], most integer, most_bytes integer, proves_items boolean default false)
returns setof inbound_events
language plpgsql
set plan_cache_mode = force_generic_plan -- also of its steps: planning takes longer than running for few rows
as $$
declare
  own smallint[];
begin
  -- Alone, so that the next statement sees what a worker that had a lane until now has handled of it.
  select array_agg(free.lane) into own
  from unnest(requested) as free (lane)
  where pg_try_advisory_xact_lock(advisory_key('event lane', free.lane::text));

  return query
  select event.*
  from (
    select
      held.lane,
      held.id,
      sum(held.bytes) over (order by held.place, held.bytes, held.id) - held.bytes as bytes_before
    from (
      select of_lane.*, row_number() over (partition by of_lane.lane, of_lane.part order by of_lane.id) as place
      from unnest(own) as mine (lane)
      cross join lateral (
        select existing.lane, existing.id, existing.part, octet_length(existing.body) as bytes
        from inbound_events existing
        where existing.lane = mine.lane and (proves_items or not existing.needs_proof)
        order by existing.id
        limit most
      ) as of_lane
      order by place, of_lane.bytes, of_lane.id
      limit most
    ) as held
  ) as oldest
  join inbound_events event on (event.lane, event.id) = (oldest.lane, oldest.id)
  where oldest.bytes_before < most_bytes;
end
$$;
