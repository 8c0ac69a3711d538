-- Accepts emails: inserts each with its content, enqueues the job that sends it, and stores the answer for the
-- Idempotency-Key of its request, all or nothing. Returns the accepted ones: an email whose key was released, or claimed by a
-- repeated request, is left out. Contents are read where they are written: each step copies the rows that it reads.
create function insert_emails(items jsonb)
returns table (uid text)
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
  enqueued as (
    insert into jobs (kind, lane, company_id, subject_id)
    select 'email.send', 'email:' || item.company_id, item.company_id, item.id
    from item
    order by item.id
  )
  select item.uid from item;
end
$$;
