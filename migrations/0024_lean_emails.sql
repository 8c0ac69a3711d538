-- Mails at less cost: what of a mail is tracked is found once, when it is taken in, and who opens and clicks writes once.

-- From here to there in the HTML, in JavaScript's units, goes the address of which number; and where the links lead.
-- Null: taken in before this, found at each attempt.
alter table email_contents add column tracking jsonb;

-- A click has its mail's row before it is written, and mails are never deleted: looking it up again cost each click more
-- than writing it. One index is the key and finds a mail's clicks in their order.
alter table email_clicks
  drop constraint email_clicks_company_id_email_id_fkey,
  drop constraint email_clicks_pkey,
  add primary key (company_id, email_id, id);
drop index email_clicks_by_email;

-- Takes mails in: each is kept with its contents, a job is put up that sends it, and the answer is kept for the
-- Idempotency-Key of its request, all or nothing.
create or replace function accept_emails(items jsonb) returns void
language plpgsql as $$
declare
  jobs jsonb;
begin
  with item as materialized (
    select nextval('emails_id_seq') as id, given.*
    from jsonb_to_recordset(items) as given (
      company_id bigint, uid text, template_id bigint, recipient text, subject text, message_id text, secret text,
      is_marketing boolean, from_address text, from_name text, reply_to text, html text, text text, headers jsonb,
      track_opens boolean, track_clicks boolean, tracking jsonb, idempotency_id bigint, answer_status smallint, answer_body text
    )
  ),
  kept as (
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
  ),
  answered as (
    update idempotency_keys
    set answer_status = item.answer_status, answer_body = item.answer_body
    from item
    where (idempotency_keys.company_id, idempotency_keys.id) = (item.company_id, item.idempotency_id)
      and idempotency_keys.answer_status is null
  )
  select jsonb_agg(
    jsonb_build_object(
      'kind', 'email.send', 'lane', 'email:' || item.company_id, 'company_id', item.company_id,
      'subject_id', item.id, 'once', false
    )
  )
  into jobs
  from item;

  perform enqueue_jobs(jobs);
end
$$;

-- Opens (link 0) and clicks (link 1…), each with what proves that its token is ours: a digest over the mail's own
-- secret. Answers the place of each that is known, and where its link leads; what is not counted is only looked up.
-- A fetch within three seconds of the sending is taken for a machine's, too: nobody reads so fast.
--
-- A fetch has `tail`, which follows the secret under the digest, and `mac`, both in hex. The answer names targets by
-- place, from 1.
create or replace function record_email_fetches(fetches jsonb) returns json
language plpgsql
-- Mails are found by their key in the order in which they are named: no two statements wait for each other in a circle.
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  answer json;
begin
  with found as materialized (
    select
      given.place, given.company_id, given.email_id, given.link, given.counted,
      case when given.link > 0 then (
        select email_links.targets[given.link]
        from email_links
        where (email_links.company_id, email_links.email_id) = (given.company_id, given.email_id)
      ) end as target,
      given.machine or emails.settled_at is null or clock_timestamp() < emails.settled_at + interval '3 seconds'
        as machine
    from rows from (
      jsonb_to_recordset(fetches) as (
        company_id bigint, email_id bigint, link integer, tail text, mac text, counted boolean, machine boolean
      )
    ) with ordinality as given (company_id, email_id, link, tail, mac, counted, machine, place)
    join emails on (emails.company_id, emails.id) = (given.company_id, given.email_id)
    where substring(sha256(emails.secret || decode(given.tail, 'hex')) for 18) = decode(given.mac, 'hex')
  ),
  fetched as materialized (
    select *
    from found
    where link = 0 or target is not null
  ),
  touched as materialized (
    select
      fetched.company_id, fetched.email_id,
      count(*) filter (where fetched.link = 0) as opens,
      count(*) filter (where fetched.link = 0 and fetched.machine) as machine_opens,
      count(*) filter (where fetched.link > 0) as clicks,
      count(*) filter (where fetched.link > 0 and fetched.machine) as machine_clicks
    from fetched
    where fetched.counted
    group by fetched.company_id, fetched.email_id
    order by fetched.company_id, fetched.email_id
  ),
  changed as (
    update emails
    set
      open_count = emails.open_count + touched.opens,
      machine_open_count = emails.machine_open_count + touched.machine_opens,
      first_open_at = coalesce(emails.first_open_at, case when touched.opens > 0 then clock_timestamp() end),
      click_count = emails.click_count + touched.clicks,
      machine_click_count = emails.machine_click_count + touched.machine_clicks,
      first_click_at = coalesce(emails.first_click_at, case when touched.clicks > 0 then clock_timestamp() end)
    from touched
    where (emails.company_id, emails.id) = (touched.company_id, touched.email_id)
    returning
      emails.company_id, emails.template_id,
      -- All that are counted by now are of this statement.
      (touched.opens > 0 and emails.open_count = touched.opens)::integer as first_opens,
      (touched.clicks > 0 and emails.click_count = touched.clicks)::integer as first_clicks
  ),
  ledger as (
    insert into email_clicks (company_id, email_id, link, suspected_machine)
    select fetched.company_id, fetched.email_id, fetched.link, fetched.machine
    from fetched
    where fetched.counted and fetched.link > 0
  ),
  first_times as (
    select
      changed.company_id, changed.template_id, sum(changed.first_opens) as opened, sum(changed.first_clicks) as clicked
    from changed
    where changed.template_id is not null and changed.first_opens + changed.first_clicks > 0
    group by changed.company_id, changed.template_id
  ),
  counts as materialized (
    select counts.company_id, counts.template_id, first_times.opened, first_times.clicked
    from first_times
    join email_template_counts counts using (company_id, template_id)
    order by counts.company_id, counts.template_id
    for no key update of counts
  ),
  summed as (
    update email_template_counts
    set
      opened = email_template_counts.opened + counts.opened,
      clicked = email_template_counts.clicked + counts.clicked
    from counts
    where (email_template_counts.company_id, email_template_counts.template_id)
      = (counts.company_id, counts.template_id)
  )
  select coalesce(json_object_agg(fetched.place, fetched.target), '{}')
  into answer
  from fetched;
  return answer;
end
$$;
