-- The active registrations of companies, for enqueue_deliveries; one that is paused for its backlog has no event but messages. With `lease_ms`, a registration has a claim, and what its first
-- attempts need, except those in `full_lanes`, those of `full_companies`, those with deliveries waiting (since yesterday: older
-- ones wait for their receiver), and those that are being changed or whose company is. Registrations and companies with a claim
-- are read under shared locks, as start_attempts does.
create function lease_receivers(
  company_ids bigint[], today integer, full_lanes text[], full_companies bigint[], lease_ms integer
)
returns table (
  company_id bigint, id bigint, events text[], channel_ids bigint[], ordered boolean,
  claim_id uuid, url text, method text, static_headers text, secret text -- null without a claim
)
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  return query
  -- Without waiting for a change, since inbound messages would wait, too.
  with held_company as materialized (
    select living.id
    from (select company.id from unnest(company_ids) as company (id) where lease_ms is not null order by 1) as company
    cross join lateral (
      select existing.id from companies existing where existing.id = company.id and existing.deleted_at is null
      for share of existing skip locked
    ) as living
  )
  select
    registration.company_id, registration.id,
    case when registration.paused_reason = 'backlog'
      then array(select 'whatsapp.message.received' where 'whatsapp.message.received' = any (registration.events))
      else registration.events
    end,
    registration.channel_ids, registration.ordered,
    case when held.id is not null then gen_random_uuid() end, held.url, held.method, held.static_headers, held.secret
  from (select company.id from unnest(company_ids) as company (id) order by 1) as company
  join registrations registration on registration.company_id = company.id
    and registration.status = 'active' and registration.deleted_at is null
  cross join lateral (select registration.company_id::text || '.' || registration.id::text) as lane (lane)
  left join lateral (
    select existing.id, existing.url, existing.method, existing.static_headers, existing.secret
    from registrations existing
    where existing.company_id = registration.company_id and existing.id = registration.id
      and existing.status = 'active' and existing.deleted_at is null
    for share of existing skip locked
  ) as held on registration.company_id in (select held_company.id from held_company)
    and not registration.ordered -- a claim looks for earlier deliveries first
    and registration.company_id <> all (full_companies)
    and lane.lane <> all (full_lanes)
    and not exists (
      select from deliveries delivery
      where delivery.lane = lane.lane and delivery.status = 'pending' and delivery.failed_at is null
        and delivery.claim_id is null and delivery.waits_for is null and delivery.day between today - 1 and today
    );
end
$$;
