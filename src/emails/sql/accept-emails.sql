-- Accepts emails: inserts each with its content, enqueues the job that sends it, and stores the answer for the
-- Idempotency-Key of its request, all or nothing. Returns the uids of the accepted ones: an email whose key was released,
-- or claimed by a repeated request, is left out.
create function accept_emails(items jsonb)
returns setof text
language plpgsql
as $$
declare
  jobs jsonb;
  accepted text[];
begin
  with input as materialized (
    select *
    from jsonb_to_recordset(items) as input (
      company_id bigint, uid text, template_id bigint, recipient text, subject text, message_id text, secret text,
      is_marketing boolean, from_address text, from_name text, reply_to text, html text, text text, headers jsonb,
      track_opens boolean, track_clicks boolean, tracking jsonb, idempotency_id bigint, answer_status smallint, answer_body text
    )
  ),
  answered as (
    update idempotency_keys key
    set answer_status = input.answer_status, answer_body = input.answer_body
    from input
    where (key.company_id, key.id) = (input.company_id, input.idempotency_id)
      and key.answer_status is null
    returning key.company_id, key.id
  ),
  item as materialized (
    select nextval('emails_id_seq') as id, input.*
    from input
    where input.idempotency_id is null
      or (input.company_id, input.idempotency_id) in (select answered.company_id, answered.id from answered)
  ),
  inserted as (
    insert into emails (company_id, id, uid, template_id, recipient, subject, message_id, secret, is_marketing)
    select
      item.company_id, item.id, item.uid, item.template_id, item.recipient, item.subject, item.message_id,
      decode(item.secret, 'hex'), item.is_marketing
    from item
  ),
  written as (
    insert into email_contents (
      company_id, email_id, from_address, from_name, reply_to, html, text, headers, track_opens, track_clicks,
      tracking
    )
    select
      item.company_id, item.id, item.from_address, item.from_name, item.reply_to, item.html, item.text, item.headers,
      item.track_opens, item.track_clicks, item.tracking
    from item
  )
  select jsonb_agg(
    jsonb_build_object(
      'kind', 'email.send', 'lane', 'email:' || item.company_id, 'company_id', item.company_id,
      'subject_id', item.id, 'once', false
    )
  ), array_agg(item.uid)
  into jobs, accepted
  from item;

  if jobs is not null then
    perform enqueue_jobs(jobs);
  end if;
  return query select unnest(accepted);
end
$$;
