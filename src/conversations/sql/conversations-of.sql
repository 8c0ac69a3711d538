-- The conversations, at most one for each sender, in which a customer is found under an identity.
create function conversations_of(company bigint, identity text)
returns table (sender_id bigint, id bigint, customer text, contact_id bigint)
language sql stable
as $$
  select sender.id, conversation.id, conversation.customer, conversation.contact_id
  from senders sender
  left join customer_aliases alias
    on (alias.company_id, alias.sender_id, alias.alias) = (sender.company_id, sender.id, conversations_of.identity)
  join conversations conversation
    on (conversation.company_id, conversation.sender_id, conversation.customer)
     = (sender.company_id, sender.id, coalesce(alias.customer, conversations_of.identity))
  where sender.company_id = company
$$;
