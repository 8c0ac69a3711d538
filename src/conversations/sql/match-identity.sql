-- The customer whose conversation with a sender an identity means (another identity of the same customer, or the identity
-- itself), that conversation, and the contact that the identity means. Always one row.
create function match_identity(company bigint, sender bigint, identity text)
returns table (thread text, conversation_id bigint, contact_id bigint)
language sql stable
as $$
  -- Each subquery is a probe of an index, whatever the statistics say.
  select
    named.thread,
    (
      select known.id
      from conversations known
      where (known.company_id, known.sender_id, known.customer) = (company, sender, named.thread)
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
    ) as thread
    offset 0 -- so that it is looked for once, not wherever it is named
  ) as named
$$;
