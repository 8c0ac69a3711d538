-- Starts the next attempt of each delivery; see beginAttempts in src/webhooks/delivery-store.ts. Rows are looked up one by
-- one: a plan that was cached while the tables were small reads all of them.
create function begin_attempts(company_ids bigint[], delivery_ids bigint[])
returns table (
  company_id bigint,
  delivery_id bigint,
  registration_id bigint,
  round integer,
  attempt integer,
  wamid text,
  event text,
  body text,
  url text,
  method text,
  static_headers text,
  secret text
)
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
begin
  -- What is begun writes nothing that a crash of the server could not do again.
  perform set_config('synchronous_commit', 'off', true);

  return query
  with due as materialized (
    select
      delivery.company_id, delivery.id as delivery_id, delivery.registration_id, delivery.round,
      delivery.attempts + 1 as attempt, delivery.wamid, registration.url, registration.method,
      registration.static_headers, registration.secret,
      registration.status = 'active' and registration.deleted_at is null as is_wanted
    from unnest(company_ids, delivery_ids) as given (company_id, delivery_id)
    cross join lateral (
      select *
      from deliveries known
      where (known.company_id, known.id) = (given.company_id, given.delivery_id) and known.status = 'pending'
      limit 1
    ) as delivery
    cross join lateral (
      select *
      from registrations known
      where (known.company_id, known.id) = (delivery.company_id, delivery.registration_id)
      for share of known
    ) as registration
  ),
  skipped as (
    update deliveries delivery
    set status = 'skipped', next_attempt_at = null, updated_at = now()
    where delivery.company_id = any (array(select due.company_id from due where not due.is_wanted))
      and delivery.id = any (array(select due.delivery_id from due where not due.is_wanted))
      and delivery.status = 'pending'
  )
  select
    due.company_id, due.delivery_id, due.registration_id, due.round, due.attempt, due.wamid, envelope.event,
    envelope.body, due.url, due.method, due.static_headers, due.secret
  from due
  cross join lateral (
    select known.event, known.body
    from envelopes known
    where (known.company_id, known.wamid) = (due.company_id, due.wamid)
    limit 1
  ) as envelope
  where due.is_wanted;
end
$$;
