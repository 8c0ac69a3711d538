-- Starts the next attempt of each delivery that its claim still holds; see startAttempts in src/webhooks/deliveries/delivery-store.ts.
-- Companies and registrations are locked, once each, before they are read: a change that has been answered is seen. Locks
-- stand in statements of their own (docs/decisions/0016).
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
declare
  due constant deliveries[] := array(
    select delivery.existing
    from jsonb_to_recordset(held) as input (company_id bigint, delivery_id bigint, claim_id uuid)
    cross join lateral (
      select existing
      from deliveries existing
      where existing.id = input.delivery_id and existing.company_id = input.company_id
        and existing.day = (input.delivery_id / 1000000000)::integer
        and existing.claim_id = input.claim_id and existing.status = 'pending'
      limit 1
    ) as delivery
  );
  company_ids constant bigint[] := array(select distinct one.company_id from unnest(due) as one);
  registration_ids constant bigint[] := array(select distinct one.registration_id from unnest(due) as one);
begin
  -- A start writes only locks: nothing that a crash of the server could not do again.
  perform set_config('synchronous_commit', 'off', true);
  perform from companies company where company.id = any (company_ids) order by company.id for share;
  perform from registrations registration
  where registration.company_id = any (company_ids) and registration.id = any (registration_ids)
  order by registration.company_id, registration.id
  for share;

  return query
  select
    one.company_id, one.id, one.registration_id, one.round, one.attempts + 1, one.event, one.event_id, envelope.body,
    registration.url, registration.method, registration.static_headers, registration.secret,
    one.conversation_id is not null and exists (
      select
      from deliveries earlier
      where earlier.company_id = one.company_id and earlier.registration_id = one.registration_id
        and earlier.conversation_id = one.conversation_id and earlier.status = 'pending' and earlier.id < one.id
        and earlier.day <= one.day
    )
  from unnest(due) as one
  join companies company on company.id = one.company_id and company.deleted_at is null
  join registrations registration on registration.company_id = one.company_id and registration.id = one.registration_id
    and registration.status = 'active' and registration.deleted_at is null
  cross join lateral (
    select existing.body
    from envelopes existing
    where existing.company_id = one.company_id and existing.event = one.event and existing.event_id = one.event_id
      and existing.day = one.day
    limit 1
  ) as envelope;
end
$$;
