-- Writes how attempts ended, and ends the jobs of those that are not repeated, unless another worker has them. `pending`: the
-- attempt is repeated. An email that was given up with an unknown outcome still
-- becomes `sent` when the answer of its server arrives later; every other final status stays.
create function complete_emails(items jsonb)
returns void
language sql
-- Rows are joined by their keys: never by reading all of an index, as a plan made while the tables are empty would.
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  with item as materialized (
    select *
    from jsonb_to_recordset(items) as input (
      company_id bigint, id bigint, status text, failure_reason text, job_id bigint, claim_id uuid
    )
  ),
  locked as materialized (
    select emails.company_id, emails.id, emails.template_id, item.status, item.failure_reason
    from item
    join emails on (emails.company_id, emails.id) = (item.company_id, item.id)
    where emails.status = 'pending' or (emails.status = 'failed' and item.status = 'sent')
    order by emails.company_id, emails.id
    for no key update of emails
  ),
  completed as (
    update emails
    set
      status = locked.status,
      failure_reason = locked.failure_reason,
      submitted_at = case when locked.status <> 'pending' then emails.submitted_at end,
      completed_at = case when locked.status <> 'pending' then clock_timestamp() end
    from locked
    where (emails.company_id, emails.id) = (locked.company_id, locked.id)
      and (emails.status = 'pending' or (emails.status = 'failed' and locked.status = 'sent'))
    returning
      emails.company_id, emails.id, emails.template_id, emails.status,
      (emails.open_count > 0)::integer as opened, (emails.click_count > 0)::integer as clicked
  ),
  forgotten as (
    delete from email_contents
    using completed
    where (email_contents.company_id, email_contents.email_id) = (completed.company_id, completed.id)
      and completed.status <> 'pending'
  ),
  ended as (
    delete from jobs
    using item
    where (jobs.id, jobs.claim_id) = (item.job_id, item.claim_id) and item.status <> 'pending'
  ),
  sent as (
    select
      completed.company_id, completed.template_id, count(*) as number,
      -- before the status was known; later ones are added by record_email_fetches
      sum(completed.opened) as opened, sum(completed.clicked) as clicked
    from completed
    where completed.status = 'sent' and completed.template_id is not null
    group by completed.company_id, completed.template_id
  ),
  counts as materialized (
    select counts.company_id, counts.template_id, sent.number, sent.opened, sent.clicked
    from sent
    join email_template_counts counts using (company_id, template_id)
    order by counts.company_id, counts.template_id
    for no key update of counts
  )
  update email_template_counts
  set
    sent = email_template_counts.sent + counts.number,
    opened = email_template_counts.opened + counts.opened,
    clicked = email_template_counts.clicked + counts.clicked
  from counts
  where (email_template_counts.company_id, email_template_counts.template_id) = (counts.company_id, counts.template_id)
$$;
