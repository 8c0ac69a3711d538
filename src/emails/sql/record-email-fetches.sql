-- Opens (link 0) and clicks (link 1…), each with the proof that its token is ours: `tail` follows the secret of the email
-- under the digest `mac`, both in hex. Returns the place of each known fetch, from 1, and the target of its link. A fetch
-- that is not counted is only looked up. A fetch within three seconds of the sending counts as a machine's.
-- Fetches arrive as one JSON text and are answered in one: an array for each member cost the process more than the
-- database's work.
create function record_email_fetches(fetches jsonb)
returns json
language plpgsql
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
      -- All that are counted by now are of this statement. The template counts emails that were sent: settle_emails adds
      -- the opens and clicks that came before.
      (emails.status = 'sent' and touched.opens > 0 and emails.open_count = touched.opens)::integer as first_opens,
      (emails.status = 'sent' and touched.clicks > 0 and emails.click_count = touched.clicks)::integer as first_clicks
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
