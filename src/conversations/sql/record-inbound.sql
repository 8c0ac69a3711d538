-- Records what customers and the business's own phone app wrote: contacts, conversations, messages, reactions. One call is
-- part of the transaction that deletes the events. It locks first and looks afterwards, in later statements.
--
-- items: an array of inbound_item, in their order. before: the number of items in earlier calls of the same moment.
-- Returns one row per item: is_new is false for an item that was known. Fewer rows than items: the next item moves a number
-- (identify_customers), so call again with the rest. Within one call the identities of a customer must not change:
-- identities that an item joins are known to the next call only.
create function record_inbound(items jsonb, source_type text, before integer, at timestamptz)
returns table (ord integer, is_new boolean, conversation_id bigint, message_id bigint)
language plpgsql
set plan_cache_mode = force_generic_plan -- also of its steps: planning takes longer than running for few rows
as $$
declare
  given inbound_item[];
  matches inbound_match[];
  conversations recorded_conversation[];
begin
  select array_agg(item order by item.ord) into given
  from jsonb_populate_recordset(null::inbound_item, items) as item;

  given := lock_inbound_customers(given, at);
  matches := match_inbound(given);
  if exists (select from unnest(matches) as known where known.is_new and known.contact_id is null) then
    matches := create_inbound_contacts(given, matches, source_type);
  end if;
  if exists (select from unnest(given) as item where item.other is not null) then
    perform join_identities(given, matches, at);
  end if;
  conversations := record_inbound_conversations(given, matches, before, at);
  return query select * from record_inbound_messages(given, matches, conversations, at);

  if exists (
    select
    from unnest(given) as item
    cross join lateral (
      select from message_changes change
      where (change.company_id, change.target_wamid) = (item.company_id, item.wamid)
      limit 1
    ) as change
  ) then
    perform apply_message_changes(array_agg(row(item.company_id, item.wamid)::message_key), at)
    from unnest(given) as item;
  end if;
end
$$;
