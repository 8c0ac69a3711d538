-- Resolves an identity: the identity under which the conversation with the sender is stored (an alias leads to another
-- identity of the same customer), the conversation, and the contact. Always one row.
create function match_identity(company bigint, sender bigint, identity text)
returns table (customer_key text, conversation_id bigint, contact_id bigint)
language sql stable
as $$
  -- Each subquery is a probe of an index, whatever the statistics say.
  select
    named.customer_key,
    (
      select known.id
      from conversations known
      where (known.company_id, known.sender_id, known.customer) = (company, sender, named.customer_key)
    ),
    (
      select known.contact_id
      from contact_identities known
      where (known.company_id, known.identity) = (company, match_identity.identity)
      limit 1
    )
  from (
    select coalesce(
      (
        select known.customer
        from customer_aliases known
        where (known.company_id, known.sender_id, known.alias) = (company, sender, match_identity.identity)
      ),
      match_identity.identity
    ) as customer_key
    offset 0 -- evaluates the alias once instead of at each use
  ) as named
$$;
