-- Enqueues envelopes for every active registration of their company that subscribes to the event, with a job for each new
-- delivery; see insertDeliveries in src/webhooks/delivery-store.ts. One round trip of the transaction that writes the
-- messages.
-- With `lease_ms`, the caller is a worker and the jobs are leased to it at once, one claim for each registration, except
-- those in `full_lanes`, those of `full_companies`, and those whose registration has older jobs waiting. `claim_id` is null
-- for the rest.
create function put_up_deliveries(
  job_kind text,
  company_ids bigint[],
  wamids text[],
  events text[],
  message_ids bigint[],
  bodies text[],
  full_lanes text[] default '{}'::text[],
  full_companies bigint[] default '{}'::bigint[],
  lease_ms integer default NULL::integer
)
returns table (
  company_id bigint,
  delivery_id bigint,
  registration_id bigint,
  job_id bigint,
  claim_id uuid,
  due_at timestamptz,
  created_at timestamptz
)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
begin
  return query
  with given as materialized (
    select distinct on (company_id, wamid) *
    from unnest(company_ids, wamids, events, message_ids, bodies) with ordinality
      as given (company_id, wamid, event, message_id, body, ord)
    order by company_id, wamid, ord
  ),
  wanted as materialized (
    select given.*, receivers.ids
    from given
    cross join lateral (
      select array_agg(registration.id order by registration.id) as ids
      from registrations registration
      where registration.company_id = given.company_id
        and given.event = any (registration.events)
        and registration.status = 'active'
        and registration.deleted_at is null
    ) as receivers
    where receivers.ids is not null
  ),
  taken as materialized (
    select receiver.id, gen_random_uuid() as claim_id, clock_timestamp() + lease_ms * interval '1 ms' as lease_until
    from (select distinct wanted.company_id, one.id from wanted cross join lateral unnest(wanted.ids) as one (id)) as receiver
    where lease_ms is not null
      and receiver.company_id <> all (full_companies)
      and receiver.id::text <> all (full_lanes)
      -- One descent of the index of those who wait, whatever the statistics say.
      and (
        select job.id
        from jobs job
        where job.kind = job_kind and job.lane = receiver.id::text and job.claim_id is null and job.failed_at is null
        order by job.lane, job.due_at, job.id
        limit 1
      ) is null
  ),
  stored as (
    insert into envelopes (company_id, wamid, event, message_id, body)
    select wanted.company_id, wanted.wamid, wanted.event, wanted.message_id, wanted.body
    from wanted
    order by wanted.company_id, wanted.wamid -- one order of locks for all who write at once
    on conflict (company_id, wamid) do nothing
    returning envelopes.company_id, envelopes.wamid
  ),
  made as (
    insert into deliveries (company_id, registration_id, wamid)
    select wanted.company_id, one.registration_id, wanted.wamid
    from wanted
    join stored on (stored.company_id, stored.wamid) = (wanted.company_id, wanted.wamid)
    cross join lateral unnest(wanted.ids) as one (registration_id)
    order by wanted.ord, one.registration_id
    returning deliveries.company_id, deliveries.id as delivery_id, deliveries.registration_id
  )
  insert into jobs as put_up (kind, lane, company_id, subject_id, claim_id, lease_until)
  select job_kind, made.registration_id::text, made.company_id, made.delivery_id, taken.claim_id, taken.lease_until
  from made
  left join taken on taken.id = made.registration_id
  returning
    put_up.company_id, put_up.subject_id, put_up.lane::bigint, put_up.id, put_up.claim_id, put_up.due_at,
    put_up.created_at;
end
$$;
