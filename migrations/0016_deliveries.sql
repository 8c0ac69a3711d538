-- The statements of an attempt as functions, each one round trip, told which plans not to use: tables that are empty
-- in one minute hold a million rows in the next, and a plan that was cached for the small ones reads them from end to
-- end (as in 0008_jobs.sql).

-- Begins the next attempt of each delivery; see beginAttempts in src/webhooks/delivery-store.ts.
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
  headers jsonb,
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
      registration.headers, registration.secret,
      registration.status = 'active' and registration.deleted_at is null as is_wanted
    from unnest(company_ids, delivery_ids) as given (company_id, delivery_id)
    join deliveries delivery on (delivery.company_id, delivery.id) = (given.company_id, given.delivery_id)
    join registrations registration
      on (registration.company_id, registration.id) = (delivery.company_id, delivery.registration_id)
    where delivery.status = 'pending'
    for share of registration
  ),
  skipped as (
    update deliveries delivery
    set status = 'skipped', next_attempt_at = null, updated_at = now()
    from due
    where (delivery.company_id, delivery.id) = (due.company_id, due.delivery_id)
      and delivery.status = 'pending'
      and not due.is_wanted
  )
  select
    due.company_id, due.delivery_id, due.registration_id, due.round, due.attempt, due.wamid, envelope.event,
    envelope.body, due.url, due.method, due.headers, due.secret
  from due
  join envelopes envelope on (envelope.company_id, envelope.wamid) = (due.company_id, due.wamid)
  where due.is_wanted;
end
$$;

-- Writes one row per attempt and what becomes of its delivery. An attempt that somebody else has recorded, or that
-- belongs to a round that is over, changes nothing.
create function record_attempts(items jsonb)
returns void
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
begin
  with made as materialized (
    select *
    from rows from (
      jsonb_to_recordset(items) as (
        company_id bigint, delivery_id bigint, registration_id bigint, round integer, attempt integer,
        status_code integer, response text, error_message text, duration_ms integer, sent_at timestamptz,
        status_after text, next_attempt_at timestamptz
      )
    ) with ordinality as made (
      company_id, delivery_id, registration_id, round, attempt, status_code, response, error_message, duration_ms,
      sent_at, status_after, next_attempt_at, ord
    )
  ),
  logged as (
    insert into delivery_attempts (
      company_id, delivery_id, registration_id, round, attempt, status_code, response, error_message, duration_ms,
      dead_lettered, sent_at
    )
    select
      company_id, delivery_id, registration_id, round, attempt, status_code, response, error_message, duration_ms,
      status_after = 'dead', sent_at
    from made
    order by ord
    on conflict on constraint delivery_attempts_once do nothing
  )
  update deliveries delivery
  set
    attempts = made.attempt,
    status = made.status_after,
    next_attempt_at = made.next_attempt_at,
    updated_at = now()
  from made
  where (delivery.company_id, delivery.id) = (made.company_id, made.delivery_id)
    and delivery.round = made.round
    and delivery.attempts = made.attempt - 1
    and delivery.status = 'pending';
end
$$;

-- The same with the attempts' jobs, which end or get another time: only who still holds a job may say what became of
-- its delivery. Otherwise one whose lease was lost could record a failure over which the other's success is dropped,
-- and the delivery would be left without a job. Items carry their `job_id`.
create function settle_attempts(ended bigint[], ended_claims uuid[], again jsonb, items jsonb)
returns void
language plpgsql
as $$
declare
  held constant bigint[] :=
    array(select finish_jobs(ended, ended_claims)) || array(select reschedule_jobs(again));
begin
  perform record_attempts(
    (
      select coalesce(jsonb_agg(item order by ord), '[]')
      from jsonb_array_elements(items) with ordinality as one (item, ord)
      where (item ->> 'job_id')::bigint = any (held)
    )
  );
end
$$;
