-- Counts opens and clicks: each email's, the click ledger, and the emails of each template that were opened or clicked. The
-- ledger keeps 1,000 clicks of a mail and UTC day; the lock of the mail's row makes the bound exact.
create function count_email_fetches(fetches email_fetch[])
returns void
language sql
-- Rows are joined by their keys: never by reading all of an index, as a plan made while the tables are empty would.
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  with touched as materialized (
    select
      fetched.company_id, fetched.email_id,
      count(*) filter (where fetched.link = 0) as opens,
      count(*) filter (where fetched.link = 0 and fetched.machine) as machine_opens,
      count(*) filter (where fetched.link > 0) as clicks,
      count(*) filter (where fetched.link > 0 and fetched.machine) as machine_clicks,
      array_agg(fetched.link) filter (where fetched.link > 0) as links,
      array_agg(fetched.machine) filter (where fetched.link > 0) as machines
    from unnest(fetches) as fetched
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
      first_click_at = coalesce(emails.first_click_at, case when touched.clicks > 0 then clock_timestamp() end),
      clicks_of_day = touched.clicks + case when emails.clicks_on = today.day then emails.clicks_of_day else 0 end,
      clicks_on = today.day
    from touched, (values ((clock_timestamp() at time zone 'UTC')::date)) as today (day)
    where (emails.company_id, emails.id) = (touched.company_id, touched.email_id)
    returning
      emails.company_id, emails.template_id, emails.id as email_id,
      touched.links, touched.machines, emails.clicks_of_day - touched.clicks as earlier_clicks,
      -- All that are counted by now are of this statement. The template counts emails that were sent: complete_emails adds
      -- the opens and clicks that came before.
      (emails.status in ('sent', 'bounced') and touched.opens > 0 and emails.open_count = touched.opens)::integer as first_opens,
      (emails.status in ('sent', 'bounced') and touched.clicks > 0 and emails.click_count = touched.clicks)::integer as first_clicks
  ),
  ledger as (
    insert into email_clicks (company_id, email_id, link, suspected_machine)
    select changed.company_id, changed.email_id, click.link, click.machine
    from changed, unnest(changed.links, changed.machines) with ordinality as click (link, machine, place)
    where changed.earlier_clicks + click.place <= 1000
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
  )
  update email_template_counts total
  set opened = total.opened + counts.opened, clicked = total.clicked + counts.clicked
  from counts
  where (total.company_id, total.template_id) = (counts.company_id, counts.template_id)
$$;
