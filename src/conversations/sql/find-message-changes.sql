-- The change that counts of each of these messages, if there is any: a revoke more than every edit, of several edits the
-- latest. Only the writer of a message changes it, at the sender number where it was written: the business its own, a customer
-- those of its conversation, in a group those that show the customer as their writer.
create function find_message_changes(keys message_key[])
returns table (company_id bigint, id bigint, kind text, text text, occurred_at timestamptz)
language sql stable
as $$
  select message.company_id, message.id, latest.kind, latest.text, latest.occurred_at
  from (
    select distinct input.company_id, input.wamid from unnest(keys) as input
  ) as input
  cross join lateral (
    select existing.*
    from messages existing
    where (existing.company_id, existing.wamid) = (input.company_id, input.wamid)
    order by existing.id desc -- the newest month first
    limit 1
  ) as message
  cross join lateral (
    select existing.sender_id, existing.customer_id
    from conversations existing
    where (existing.company_id, existing.id) = (message.company_id, message.conversation_id)
    limit 1
  ) as conversation
  cross join lateral (
    select change.kind, change.text, change.occurred_at
    from message_changes change
    where (change.company_id, change.target_wamid) = (message.company_id, message.wamid)
      and (change.sender_id, change.direction) = (conversation.sender_id, message.direction)
      and (
        change.direction = 'outbound'
        or exists (
          select
          from customer_identities existing
          where (existing.company_id, existing.customer_id) = (message.company_id, conversation.customer_id)
            and existing.identity = any (change.writers)
        )
        or (
          exists (
            select
            from customer_identities existing
            where (existing.company_id, existing.customer_id) = (message.company_id, conversation.customer_id)
              and existing.identity like '#%'
          )
          and (
            message.sender_name = change.shown_writer
            or right(message.sender_name, length(change.shown_writer) + 3) = ' (' || change.shown_writer || ')'
          )
        )
      )
    order by change.kind = 'revoke' desc, change.occurred_at desc, change.ordinal desc
    limit 1
  ) as latest
  where message.revoked_at is null
$$;
