-- Matches each item of a batch: whether it is recorded, its conversation and its contact. Looks each identity up once.
-- If a customer has two identities, the first one takes precedence.
create function match_inbound(items inbound_item[])
returns inbound_match[]
language plpgsql stable
as $$
declare
  matches inbound_match[];
begin
  with known as materialized (
    select named.*, matched.*
    from (
      select item.company_id, item.sender_id, item.customer as identity from unnest(items) as item
      union
      select item.company_id, item.sender_id, item.other from unnest(items) as item where item.other is not null
    ) as named
    cross join lateral match_identity(named.company_id, named.sender_id, named.identity) as matched
  )
  select array_agg(
    (
      item.wamid is null or item.is_first and case item.kind
        when 'reaction' then (
          select reaction.wamid
          from message_reactions reaction
          where (reaction.company_id, reaction.wamid) = (item.company_id, item.wamid)
        )
        else (
          select message.wamid
          from messages message
          where (message.company_id, message.wamid) = (item.company_id, item.wamid)
        )
      end is null,
      coalesce(own.conversation_id, joined.conversation_id),
      case
        when own.conversation_id is null and joined.conversation_id is not null then joined.customer_key
        else own.customer_key
      end,
      coalesce(own.contact_id, joined.contact_id),
      case when own.contact_id is null and joined.contact_id is not null then item.other else item.customer end
    )::inbound_match
    order by item.ord
  )
  into matches
  from (
    select
      item.*,
      row_number() over (partition by item.company_id, item.kind = 'reaction', item.wamid order by item.ord) = 1 as is_first
    from unnest(items) as item
  ) as item
  join known own
    on (own.company_id, own.sender_id, own.identity) = (item.company_id, item.sender_id, item.customer)
  left join known joined
    on (joined.company_id, joined.sender_id, joined.identity) = (item.company_id, item.sender_id, item.other);
  return matches;
end
$$;
