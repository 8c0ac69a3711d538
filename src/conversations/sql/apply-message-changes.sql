-- Applies the edits and revokes that are known of messages, whenever they or their messages arrived: a revoke counts more than
-- every edit, of several edits the latest. Only the writer of a message changes it, at the sender number where it was written:
-- the business its own, a customer those of its conversation, in a group those that show the customer as their writer. The last
-- message of a conversation changes the conversation's last text as well; nothing else of the conversation moves.
create function apply_message_changes(company_ids bigint[], wamids text[], at timestamptz)
returns void
language plpgsql
set enable_seqscan = off
as $$
begin
  with target as materialized (
    select message.company_id, message.id, latest.kind, latest.text, latest.occurred_at
    from (
      select distinct given.company_id, given.wamid from unnest(company_ids, wamids) as given (company_id, wamid)
    ) as given
    cross join lateral (
      select known.*
      from messages known
      where (known.company_id, known.wamid) = (given.company_id, given.wamid)
      limit 1
    ) as message
    cross join lateral (
      select known.sender_id, known.customer
      from conversations known
      where (known.company_id, known.id) = (message.company_id, message.conversation_id)
      limit 1
    ) as conversation
    cross join lateral (
      select change.kind, change.text, change.occurred_at
      from message_changes change
      where (change.company_id, change.target_wamid) = (message.company_id, message.wamid)
        and (change.sender_id, change.direction) = (conversation.sender_id, message.direction)
        and (
          change.direction = 'outbound'
          or conversation.customer = any (change.writers)
          or exists (
            select
            from customer_aliases known
            where (known.company_id, known.sender_id) = (message.company_id, conversation.sender_id)
              and known.alias = any (change.writers)
              and known.customer = conversation.customer
          )
          or (
            conversation.customer like '#%'
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
  ),
  changed as (
    update messages message
    set
      text = case target.kind when 'revoke' then '[revoked]' else coalesce(target.text, message.text) end,
      media = case target.kind when 'revoke' then null else message.media end,
      revoked_at = case target.kind when 'revoke' then target.occurred_at end,
      edited_at = case target.kind when 'edit' then target.occurred_at else message.edited_at end,
      updated_at = at
    from target
    where (message.company_id, message.id) = (target.company_id, target.id)
    returning message.company_id, message.id, message.conversation_id, message.seq, message.text, target.kind
  ),
  unserved as (
    update media
    set state = 'gone', last_error = 'the message was revoked', updated_at = at
    from changed
    where (media.company_id, media.message_id) = (changed.company_id, changed.id)
      and changed.kind = 'revoke'
      and media.state in ('pending', 'stored')
  )
  update conversations conversation
  set last_text = changed.text, updated_at = at
  from changed
  where (conversation.company_id, conversation.id) = (changed.company_id, changed.conversation_id)
    and conversation.message_count = changed.seq;
end
$$;
