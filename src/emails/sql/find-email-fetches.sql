-- Of these fetches those whose token is ours, with the targets of their links: `tail` follows the secret of the email under
-- the digest `mac`, both in hex. A fetch within three seconds of the sending counts as a machine's. Those of a locked company
-- are not counted: an export may have read its rows already.
create function find_email_fetches(fetches jsonb)
returns setof email_fetch
language sql stable
as $$
  select found.*
  from (
    select
      input.place::integer, input.company_id, input.email_id, input.link,
      case when input.link > 0 then (
        select email_links.targets[input.link]
        from email_links
        where (email_links.company_id, email_links.email_id) = (input.company_id, input.email_id)
      ) end as target,
      input.counted and not exists (
        select from companies where companies.id = input.company_id and companies.closed_at is not null
      ),
      input.machine or email.completed_at is null or clock_timestamp() < email.completed_at + interval '3 seconds'
    from rows from (
      jsonb_to_recordset(fetches) as (
        company_id bigint, email_id bigint, link integer, tail text, mac text, counted boolean, machine boolean
      )
    ) with ordinality as input (company_id, email_id, link, tail, mac, counted, machine, place)
    -- Lateral with a limit: a probe of the index for each fetch, whatever the statistics say.
    cross join lateral (
      select emails.secret, emails.completed_at
      from emails
      where (emails.company_id, emails.id) = (input.company_id, input.email_id)
      limit 1
    ) as email
    where substring(sha256(email.secret || decode(input.tail, 'hex')) for 18) = decode(input.mac, 'hex')
  ) as found
  where found.link = 0 or found.target is not null
$$;
