-- Stores envelopes with one delivery per active registration that subscribes to the event; see enqueueDeliveries in
-- src/webhooks/deliveries/delivery-store.ts. Skips envelopes without receivers, and events already stored today. A registration
-- paused for its backlog gets messages only. `people`: who an erasure finds the envelope by when no message leads to it.
-- With `lease_ms`, the calling worker gets one claim per registration, except in `full_lanes`, for `full_companies`, for ordered
-- registrations, and where deliveries wait (since yesterday: older ones wait for their receiver).
create function insert_deliveries(
  envelopes jsonb, lease_ms integer default null, full_lanes text[] default '{}'::text[],
  full_companies bigint[] default '{}'::bigint[]
)
returns table (company_id bigint, delivery_id bigint, registration_id bigint, claim_id uuid, due_at timestamptz, created_at timestamptz)
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  today constant integer := (now() at time zone 'UTC')::date - date '1970-01-01';
begin
  return query
  with input as materialized (select * from jsonb_to_recordset(envelopes) as input (
    company_id bigint, event text, event_id text, message_id bigint, conversation_id bigint, channel_ids bigint[], body text, people text[]
  )),
  receiver as materialized (
    select registration.company_id, registration.id, registration.events, registration.channel_ids, registration.ordered,
      registration.paused_reason is distinct from 'backlog' as gets_all,
      case when lease_ms is not null
        and not registration.ordered -- a claim looks for earlier deliveries first
        and registration.company_id <> all (full_companies) and lane.lane <> all (full_lanes)
        and not exists (
          select from deliveries delivery
          where delivery.lane = lane.lane and delivery.status = 'pending' and delivery.failed_at is null
            and delivery.claim_id is null and delivery.waits_for is null and delivery.day between today - 1 and today
        )
        then gen_random_uuid()
      end as claim_id
    from (select distinct input.company_id as id from input) as company
    join registrations registration on registration.company_id = company.id
      and registration.status = 'active' and registration.deleted_at is null
    cross join lateral (select registration.company_id::text || '.' || registration.id::text) as lane (lane)
  ),
  requested as materialized (
    select input.*, subscribed.receivers, subscribed.delivery_ids
    from input cross join lateral (
      select array_agg(receiver.id order by receiver.id) as receivers,
        array_agg(today * 1000000000::bigint + nextval('delivery_ids') order by receiver.id) as delivery_ids
      from receiver
      where receiver.company_id = input.company_id and input.event = any (receiver.events)
        and (receiver.gets_all or input.event = 'whatsapp.message.received')
        and (receiver.channel_ids && input.channel_ids) is not false -- null: of every number, or about none
    ) as subscribed
    where subscribed.receivers is not null
  ),
  stored as (
    insert into envelopes (company_id, day, event, event_id, message_id, body, delivery_ids)
    select company_id, today, event, event_id, message_id, body, delivery_ids from requested
    order by company_id, event, event_id -- one order of locks for all who write at once
    on conflict (company_id, event, event_id, day) do nothing
    returning envelopes.company_id, envelopes.event, envelopes.event_id, envelopes.delivery_ids
  ),
  named as (
    insert into envelope_people (company_id, person, event, event_id, day)
    select company_id, one.person, event, event_id, today
    from requested join stored using (company_id, event, event_id, delivery_ids), unnest(requested.people) as one (person)
    on conflict do nothing
  ),
  created as (
    insert into deliveries as inserted (company_id, id, day, registration_id, event, event_id, conversation_id, claim_id, lease_until)
    select requested.company_id, one.delivery_id, today, one.receiver_id, event, event_id,
      case when receiver.ordered then requested.conversation_id end, receiver.claim_id,
      case when receiver.claim_id is not null then clock_timestamp() + lease_ms * interval '1 ms' end
    from requested join stored using (company_id, event, event_id, delivery_ids)
    cross join lateral unnest(requested.receivers, requested.delivery_ids) as one (receiver_id, delivery_id)
    join receiver on (receiver.company_id, receiver.id) = (requested.company_id, one.receiver_id)
    order by one.delivery_id
    returning inserted.*
  )
  select created.company_id, created.id, created.registration_id, created.claim_id, created.due_at, created.created_at
  from created order by created.id;
end
$$;
