-- Keeps the identities under which the provider knows the recipients of sends as aliases of their conversations and contacts.
-- Where a customer has a conversation under that identity, the one that was dialled leads to it. A number and a user id that
-- are known to be of two customers stay apart.
create function alias_recipients(sends identified_send[], at timestamptz)
returns void
language plpgsql
-- Rows are joined by their keys: never by reading all of an index, as a plan made while the tables are empty would.
set enable_hashjoin = off
set enable_mergejoin = off
as $$
begin
  select array_agg(send) into sends
  from unnest(sends) as send
  where not are_two_customers(send.company_id, send.dialled, send.customer)
    and not are_two_customers(send.company_id, send.customer, send.dialled);

  insert into customer_user_ids (company_id, phone_identity, user_id, reported_at)
  select
    send.company_id,
    case when send.dialled ~ '^[0-9]+$' then send.dialled else send.customer end,
    case when send.dialled ~ '^[0-9]+$' then send.customer else send.dialled end,
    at
  from unnest(sends) as send
  where (send.dialled ~ '^[0-9]+$') <> (send.customer ~ '^[0-9]+$')
  order by 1, 2
  on conflict do nothing;

  insert into customer_aliases (company_id, sender_id, alias, customer)
  select distinct
    conversation.company_id,
    conversation.sender_id,
    case when known.id is null then send.customer else conversation.customer end,
    case when known.id is null then conversation.customer else send.customer end
  from unnest(sends) as send
  join messages message on (message.company_id, message.id) = (send.company_id, send.message_id)
  join conversations conversation
    on (conversation.company_id, conversation.id) = (message.company_id, message.conversation_id)
  left join conversations known
    on (known.company_id, known.sender_id, known.customer)
     = (conversation.company_id, conversation.sender_id, send.customer)
  where send.customer <> conversation.customer
  on conflict do nothing;

  insert into contact_aliases (company_id, identity, contact_id)
  select conversation.company_id, send.customer, min(conversation.contact_id)
  from unnest(sends) as send
  join messages message on (message.company_id, message.id) = (send.company_id, send.message_id)
  join conversations conversation
    on (conversation.company_id, conversation.id) = (message.company_id, message.conversation_id)
  where send.customer <> conversation.customer
    and not exists (
      select
      from contact_identities known
      where (known.company_id, known.identity) = (conversation.company_id, send.customer)
    )
  group by conversation.company_id, send.customer
  on conflict do nothing;
end
$$;
