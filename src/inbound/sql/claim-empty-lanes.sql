-- Takes lanes that hold no event and that no worker has; they are this transaction's until it ends. Returns them. Waits for no
-- lane, and lets the transaction wait for any other lock for `most_wait_ms` only: requests wait for it.
create function claim_empty_lanes(requested smallint[], most_wait_ms integer)
returns smallint[]
language plpgsql
set plan_cache_mode = force_generic_plan -- also of its steps: planning takes longer than running for few rows
as $$
declare
  own smallint[];
begin
  perform set_config('lock_timeout', most_wait_ms::text, true);

  select array_agg(free.lane) into own
  from unnest(requested) as free (lane)
  where case
    -- a lane with events is not even locked: its worker would pass over it
    when exists (select from inbound_events event where event.lane = free.lane) then false
    else pg_try_advisory_xact_lock(advisory_key('event lane', free.lane::text))
  end;

  -- In a statement of its own: it sees what was stored until the lock was there.
  return array(
    select mine.lane
    from unnest(own) as mine (lane)
    where not exists (select from inbound_events event where event.lane = mine.lane)
  );
end
$$;
