-- Applies the stored edits and revokes of messages, whether the change or the message arrived first. A revoke removes
-- media, content and context; the last message of a conversation changes the conversation's last text as well.
create function apply_message_changes(keys message_key[], at timestamptz)
returns void
language plpgsql
as $$
begin
  with target as materialized (
    select * from find_message_changes(keys)
  ),
  changed as (
    update messages message
    set
      text = case target.kind when 'revoke' then '[revoked]' else coalesce(target.text, message.text) end,
      media = case target.kind when 'revoke' then null else message.media end,
      content = case target.kind when 'revoke' then null else message.content end,
      context = case target.kind when 'revoke' then null else message.context end,
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
