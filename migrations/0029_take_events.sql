-- Takes events off their lanes in one step, where three went over the wire: which lanes are free, what they hold, and that
-- it is done. They come back if the transaction does not commit.
--
-- The lanes that no other worker has are this transaction's until it ends. Of those, the oldest events of all together: so
-- many at most, and no more once their bodies have so many bytes, but one at least.
create function take_events(wanted smallint[], most integer, most_bytes integer)
returns setof inbound_events
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  own smallint[];
begin
  -- Alone, so that the next statement sees what a worker that had a lane until now has taken off it. The first number is
  -- these locks' own among all advisory locks.
  select array_agg(free.lane) into own
  from unnest(wanted) as free (lane)
  where pg_try_advisory_xact_lock(5201312, free.lane);

  return query
  delete from inbound_events event
  where event.ctid = any (array(
    select oldest.place
    from (
      select
        held.place,
        sum(octet_length(held.body)) over (order by held.id) - octet_length(held.body) as bytes_before
      from (
        select of_lane.*
        from unnest(own) as mine (lane)
        cross join lateral (
          select known.ctid as place, known.id, known.body
          from inbound_events known
          where known.lane = mine.lane
          order by known.id
          limit most
        ) as of_lane
        order by of_lane.id
        limit most
      ) as held
    ) as oldest
    where oldest.bytes_before < most_bytes
  ))
  returning event.*;
end
$$;

-- Senders as events are routed to them: with whether their company has any active receiver.
create view routed_senders as
select
  sender.company_id, sender.id, sender.provider, sender.phone, sender.phone_name, sender.phone_number_id,
  sender.waba_account_id, sender.app_id, sender.app_name, sender.deleted_at,
  exists (
    select
    from registrations registration
    where registration.company_id = sender.company_id
      and registration.status = 'active'
      and registration.deleted_at is null
  ) as has_receivers
from senders sender;

-- The senders behind the provider's number ids, planned once: planning took four times as long as looking.
create function find_senders(numbers text[])
returns setof routed_senders
language plpgsql
stable
set plan_cache_mode = force_generic_plan
set jit = off
as $$
begin
  return query
  select sender.*
  from sender_routes route
  join routed_senders sender on (sender.company_id, sender.id) = (route.company_id, route.sender_id)
  where route.phone_number_id = any (numbers);
end
$$;

-- 0027 had large arrays planned each time. With what it tells the server of the tables, plans that are kept do as well.
alter function lock_contacts(bigint, text[], text[], bigint[], text[]) set plan_cache_mode = force_generic_plan;
