-- Locks customers by identity as lock_customers does, but without waiting: false when another transaction has one of them.
-- With a lane the caller writes a large batch, which holds up to 2,000 locks: it needs the place of its company and lane,
-- and one of as many places in all as the lock table of the server has room for (3 with PostgreSQL's defaults).
create function try_lock_contacts(company bigint, identities text[], lane text)
returns boolean
language plpgsql
as $$
declare
  places constant integer := greatest(
    1, current_setting('max_locks_per_transaction')::integer * current_setting('max_connections')::integer / 2100
  );
  has_place boolean := lane is null;
begin
  if lane is not null and not pg_try_advisory_xact_lock(advisory_key('contact batch', company || ':' || lane)) then
    return false;
  end if;
  for place in 1 .. places loop
    exit when has_place;
    has_place := pg_try_advisory_xact_lock(advisory_key('contact batch place', place::text));
  end loop;
  if not has_place then
    return false;
  end if;

  return not exists (
    select
    from (select distinct advisory_key('customer', company || ':' || identity) as key from unnest(identities) as identity) as locks
    where not pg_try_advisory_xact_lock(locks.key)
  );
end
$$;
