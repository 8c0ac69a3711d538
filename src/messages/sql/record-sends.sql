-- Writes the sends that were not refused: contacts of new customers, slots, conversations and pending messages.
create function record_sends(decided send_decision[], at timestamptz, present timestamptz, pair_seconds double precision)
returns table (ord integer, conversation_id bigint, message_id bigint)
language plpgsql
as $$
#variable_conflict use_column
declare
  accepted send_decision[] := array(select send from unnest(decided) as send where send.refusal is null);
  conversations recorded_conversation[];
begin
  if accepted = '{}' then
    return;
  end if;
  if exists (select from unnest(accepted) as send where not send.has_contact) then
    perform resolve_contacts(array(
      select (
        (send.item).company_id, (send.item).customer, (send.item).phone, null, (send.item).contact_source,
        (send.item).source_type
      )::customer_contact
      from unnest(accepted) as send
      where not send.has_contact
      order by (send.item).ord
    ));
  end if;

  update sender_limits limits
  set next_slot_at = latest.next_slot_at
  from (
    select
      (send.item).company_id,
      (send.item).sender_id,
      present + make_interval(secs => max(send.slot_wait + (send.item).slot_seconds)) as next_slot_at
    from unnest(accepted) as send
    group by 1, 2
  ) as latest
  where (limits.company_id, limits.sender_id) = (latest.company_id, latest.sender_id)
    and latest.next_slot_at is not null;

  conversations := record_send_conversations(accepted, at, present, pair_seconds);
  return query select * from record_send_messages(accepted, conversations, at);
end
$$;
