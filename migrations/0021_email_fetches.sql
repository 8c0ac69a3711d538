--! breaking
-- Fetches come as one JSON text and are answered in one: an array for each of their members cost the process more than
-- the database's work.

drop function record_email_fetches(bigint[], bigint[], integer[], text[], text[], boolean[], boolean[]);

-- Opens (link 0) and clicks (link 1…), each with what proves that its token is ours: a digest over the mail's own
-- secret. Answers the place of each that is known, and where its link leads; what is not counted is only looked up.
-- A fetch within three seconds of the sending is taken for a machine's, too: nobody reads so fast.
--
-- A fetch has `tail`, which follows the secret under the digest, and `mac`, both in hex. The answer names targets by
-- place, from 1.
create function record_email_fetches(fetches jsonb) returns json
language plpgsql as $$
declare
  answer json;
begin
  with fetched as materialized (
    select
      fetched.place, fetched.company_id, fetched.email_id, fetched.link, fetched.counted,
      email_links.targets[fetched.link] as target,
      fetched.machine or emails.settled_at is null or clock_timestamp() < emails.settled_at + interval '3 seconds'
        as machine
    from rows from (
      jsonb_to_recordset(fetches) as (
        company_id bigint, email_id bigint, link integer, tail text, mac text, counted boolean, machine boolean
      )
    ) with ordinality as fetched (company_id, email_id, link, tail, mac, counted, machine, place)
    join emails on (emails.company_id, emails.id) = (fetched.company_id, fetched.email_id)
    left join email_links
      on fetched.link > 0 and (email_links.company_id, email_links.email_id) = (fetched.company_id, fetched.email_id)
    where substring(sha256(emails.secret || decode(fetched.tail, 'hex')) for 18) = decode(fetched.mac, 'hex')
      and (fetched.link = 0 or email_links.targets[fetched.link] is not null)
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
  ),
  locked as materialized (
    select
      touched.*, emails.template_id,
      (touched.opens > 0 and emails.first_open_at is null)::integer as first_opens,
      (touched.clicks > 0 and emails.first_click_at is null)::integer as first_clicks
    from touched
    join emails on (emails.company_id, emails.id) = (touched.company_id, touched.email_id)
    order by touched.company_id, touched.email_id
    for no key update of emails
  ),
  changed as (
    update emails
    set
      open_count = emails.open_count + locked.opens,
      machine_open_count = emails.machine_open_count + locked.machine_opens,
      first_open_at = coalesce(emails.first_open_at, case when locked.opens > 0 then clock_timestamp() end),
      click_count = emails.click_count + locked.clicks,
      machine_click_count = emails.machine_click_count + locked.machine_clicks,
      first_click_at = coalesce(emails.first_click_at, case when locked.clicks > 0 then clock_timestamp() end)
    from locked
    where (emails.company_id, emails.id) = (locked.company_id, locked.email_id)
  ),
  ledger as (
    insert into email_clicks (company_id, email_id, link, suspected_machine)
    select fetched.company_id, fetched.email_id, fetched.link, fetched.machine
    from fetched
    where fetched.counted and fetched.link > 0
  ),
  first_times as (
    select
      locked.company_id, locked.template_id, sum(locked.first_opens) as opened, sum(locked.first_clicks) as clicked
    from locked
    where locked.template_id is not null and locked.first_opens + locked.first_clicks > 0
    group by locked.company_id, locked.template_id
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
