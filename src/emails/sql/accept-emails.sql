-- Accepts emails: inserts each with its content, enqueues the job that sends it, and stores the answer for the
-- Idempotency-Key of its request, all or nothing. Returns the accepted ones with their jobs: an email whose key was released,
-- or claimed by a repeated request, is left out. Contents are read where they are written: each step copies the rows that it reads.
-- With `lease_ms`, the caller is a worker, and the jobs are leased to it at once, one claim for each company, except those in
-- `full_lanes`, and those of companies with mails that wait. `claim_id` is null for the rest.
create function accept_emails(items jsonb, full_lanes text[] default '{}'::text[], lease_ms integer default null)
returns table (
  uid text, job_id bigint, lane text, company_id bigint, subject_id bigint, claim_id uuid, due_at timestamptz, created_at timestamptz
)
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  return query
  with input as materialized (
    select *
    from rows from (jsonb_to_recordset(items) as (
      company_id bigint, uid text, template_id bigint, recipient text, recipient_key text, subject text, message_id text, secret text,
      is_marketing boolean, idempotency_id bigint, answer_status smallint, answer_body text
    )) with ordinality as input
  ),
  answered as (
    update idempotency_keys key
    set answer_status = input.answer_status, answer_body = input.answer_body
    from input
    where (key.company_id, key.id) = (input.company_id, input.idempotency_id) and key.answer_status is null
    returning key.company_id, key.id
  ),
  item as materialized (
    select nextval('emails_id_seq') as id, input.*
    from input
    where input.idempotency_id is null or (input.company_id, input.idempotency_id) in (select company_id, id from answered)
  ),
  inserted as (
    insert into emails (company_id, id, uid, template_id, recipient, recipient_key, subject, message_id, secret, is_marketing)
    select item.company_id, item.id, item.uid, item.template_id, item.recipient, item.recipient_key, item.subject, item.message_id,
      decode(item.secret, 'hex'), item.is_marketing
    from item
  ),
  written as (
    insert into email_contents (
      company_id, email_id, from_address, from_name, reply_to, html, text, headers, track_opens, track_clicks, tracking
    )
    select item.company_id, item.id, content.from_address, content.from_name, content.reply_to, content.html, content.text,
      content.headers, content.track_opens, content.track_clicks, content.tracking
    from item
    join rows from (jsonb_to_recordset(items) as (
      from_address text, from_name text, reply_to text, html text, text text, headers jsonb, track_opens boolean,
      track_clicks boolean, tracking jsonb
    )) with ordinality as content using (ordinality)
  ),
  queue as materialized (
    select
      company.company_id, company.lane,
      case when lease_ms is not null and company.lane <> all (full_lanes)
        and not exists (
          select from jobs job
          where job.kind = 'email.send' and job.lane = company.lane and job.claim_id is null and job.failed_at is null
            and job.due_at <= now()
        )
      then gen_random_uuid() end as claim_id
    from (select distinct item.company_id, 'email:' || item.company_id as lane from item) as company
  ),
  enqueued as (
    insert into jobs as job (kind, lane, company_id, subject_id, claim_id, lease_until)
    select
      'email.send', queue.lane, item.company_id, item.id, queue.claim_id,
      case when queue.claim_id is not null then clock_timestamp() + lease_ms * interval '1 ms' end
    from item
    join queue using (company_id)
    order by item.id
    returning job.*
  )
  select
    item.uid, enqueued.id, enqueued.lane, enqueued.company_id, enqueued.subject_id, enqueued.claim_id, enqueued.due_at, enqueued.created_at
  from item
  join enqueued on (enqueued.company_id, enqueued.subject_id) = (item.company_id, item.id);
end
$$;
