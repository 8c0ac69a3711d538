-- Starts the next attempt of each delivery that its claim still holds; see startAttempts in src/webhooks/deliveries/delivery-store.ts.
-- Companies and registrations are read once, under shared locks, and first: a change that has been answered is seen.
create function start_attempts(held jsonb)
returns table (
  company_id bigint, delivery_id bigint, registration_id bigint, round integer, attempt integer, event text, event_id text,
  body text, url text, method text, static_headers text, secret text,
  waits boolean -- an earlier delivery about the conversation has not finished: no attempt starts
)
language plpgsql
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  -- A start writes only locks: nothing that a crash of the server could not do again.
  perform set_config('synchronous_commit', 'off', true);

  return query
  with due as materialized (
    select delivery.*
    from jsonb_to_recordset(held) as input (company_id bigint, delivery_id bigint, claim_id uuid)
    cross join lateral (
      select
        existing.company_id, existing.id, existing.day, existing.registration_id, existing.round, existing.attempts + 1 as attempt,
        existing.event, existing.event_id, existing.conversation_id
      from deliveries existing
      where existing.id = input.delivery_id and existing.company_id = input.company_id
        and existing.day = (input.delivery_id / 1000000000)::integer
        and existing.claim_id = input.claim_id and existing.status = 'pending'
      limit 1
    ) as delivery
  ),
  company as materialized (
    select living.id
    from (select distinct due.company_id from due order by 1) as requested
    cross join lateral (
      select existing.id from companies existing where existing.id = requested.company_id and existing.deleted_at is null
      for share of existing
    ) as living
  ),
  receiver as materialized (
    select active.*
    from (
      select distinct due.company_id, due.registration_id from due join company on company.id = due.company_id order by 1, 2
    ) as requested
    cross join lateral (
      select existing.company_id, existing.id, existing.url, existing.method, existing.static_headers, existing.secret
      from registrations existing
      where existing.company_id = requested.company_id and existing.id = requested.registration_id
        and existing.status = 'active' and existing.deleted_at is null
      for share of existing
    ) as active
  )
  select
    due.company_id, due.id, due.registration_id, due.round, due.attempt, due.event, due.event_id, envelope.body,
    receiver.url, receiver.method, receiver.static_headers, receiver.secret,
    due.conversation_id is not null and exists (
      select
      from deliveries earlier
      where earlier.company_id = due.company_id and earlier.registration_id = due.registration_id
        and earlier.conversation_id = due.conversation_id and earlier.status = 'pending' and earlier.id < due.id
        and earlier.day <= due.day
    )
  from due
  join receiver on receiver.company_id = due.company_id and receiver.id = due.registration_id
  cross join lateral (
    select existing.body
    from envelopes existing
    where existing.company_id = due.company_id and existing.event = due.event and existing.event_id = due.event_id
      and existing.day = due.day
    limit 1
  ) as envelope;
end
$$;
