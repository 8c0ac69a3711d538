-- The conversations, at most one for each sender, in which a customer is found under an identity.
create function conversations_of(company bigint, identity text)
returns table (sender_id bigint, id bigint, customer text, contact_id bigint)
language sql stable
as $$
  select sender.id, conversation.id, conversation.customer, conversation.contact_id
  from senders sender
  left join lateral (
    select known.customer
    from customer_aliases known
    where (known.company_id, known.sender_id, known.alias) = (sender.company_id, sender.id, conversations_of.identity)
    limit 1
  ) as alias on true
  cross join lateral (
    select known.id, known.customer, known.contact_id
    from conversations known
    where (known.company_id, known.sender_id) = (sender.company_id, sender.id)
      and known.customer = coalesce(alias.customer, conversations_of.identity)
    limit 1
  ) as conversation
  where sender.company_id = company
$$;
