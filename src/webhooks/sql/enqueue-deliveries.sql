-- Stores envelopes and makes a delivery of each for every active registration of its company that subscribes to its event;
-- see enqueueDeliveries in src/webhooks/deliveries/delivery-store.ts. An envelope without receivers is not stored; one whose event and
-- id were stored today makes no delivery. `people`: by whom an erasure finds an envelope that no message leads to.
-- With `lease_ms`, the caller is a worker, and the deliveries that lease_receivers allows are leased to it at once, one claim for
-- each registration; their first attempts start when the transaction commits. `claim_id` is null for the rest.
create function enqueue_deliveries(
  envelopes jsonb, full_lanes text[] default '{}'::text[], full_companies bigint[] default '{}'::bigint[],
  lease_ms integer default null
)
returns table (
  company_id bigint, delivery_id bigint, registration_id bigint, claim_id uuid, due_at timestamptz, created_at timestamptz,
  event_id text, url text, method text, static_headers text, secret text -- null without a claim
)
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
    select *
    from lease_receivers(array(select distinct input.company_id from input), today, full_lanes, full_companies, lease_ms)
  ),
  requested as materialized (
    select input.*, subscribed.receivers, subscribed.delivery_ids
    from input
    cross join lateral (
      select
        array_agg(receiver.id order by receiver.id) as receivers,
        array_agg(today * 1000000000::bigint + nextval('delivery_ids') order by receiver.id) as delivery_ids
      from receiver
      where receiver.company_id = input.company_id and input.event = any (receiver.events)
        and (receiver.channel_ids && input.channel_ids) is not false -- null: of every number, or about none
    ) as subscribed
    where subscribed.receivers is not null
  ),
  stored as (
    insert into envelopes (company_id, day, event, event_id, message_id, body, delivery_ids)
    select company_id, today, event, event_id, message_id, body, delivery_ids
    from requested
    order by requested.company_id, requested.event, requested.event_id -- one order of locks for all who write at once
    on conflict (company_id, event, event_id, day) do nothing
    returning envelopes.company_id, envelopes.event, envelopes.event_id, envelopes.delivery_ids
  ),
  named as (
    insert into envelope_people (company_id, person, event, event_id, day)
    select company_id, one.person, event, event_id, today
    from requested
    join stored using (company_id, event, event_id, delivery_ids)
    cross join lateral unnest(requested.people) as one (person)
    on conflict do nothing
  ),
  created as (
    insert into deliveries as inserted (
      company_id, id, day, registration_id, event, event_id, conversation_id, claim_id, lease_until
    )
    select
      requested.company_id, one.delivery_id, today, one.receiver_id, event, event_id,
      case when receiver.ordered then requested.conversation_id end, receiver.claim_id,
      case when receiver.claim_id is not null then clock_timestamp() + lease_ms * interval '1 ms' end
    from requested
    join stored using (company_id, event, event_id, delivery_ids)
    cross join lateral unnest(requested.receivers, requested.delivery_ids) as one (receiver_id, delivery_id)
    join receiver on (receiver.company_id, receiver.id) = (requested.company_id, one.receiver_id)
    order by one.delivery_id
    returning inserted.*
  )
  select created.company_id, created.id, created.registration_id, created.claim_id, created.due_at, created.created_at,
    created.event_id, receiver.url, receiver.method, receiver.static_headers, receiver.secret
  from created
  left join receiver on (receiver.company_id, receiver.id, receiver.claim_id)
    = (created.company_id, created.registration_id, created.claim_id)
  order by created.id;
end
$$;
