-- The changes of each conversation by the new items of a batch. Unread messages are counted after the last echo. A
-- reaction is no message and changes neither count nor last text.
create function sum_inbound_conversations(items inbound_item[], matches inbound_match[], before integer, at timestamptz)
returns table (
  company_id bigint, sender_id bigint, customer_key text, conversation_id bigint, contact_id bigint, entries bigint,
  is_answered boolean, is_written_to boolean, unread bigint, profile_name text, last_text text, last_direction text,
  last_message_at timestamptz, last_inbound_at timestamptz, active_at timestamptz
)
language sql stable
as $$
  with entry as (
    select
      entry.*,
      max(entry.ord) filter (where entry.kind = 'echo')
        over (partition by entry.company_id, entry.sender_id, entry.customer_key) as last_echo
    from rows from (unnest(items), unnest(matches)) as entry
    where entry.is_new
  )
  select
    entry.company_id,
    entry.sender_id,
    entry.customer_key,
    max(entry.conversation_id),
    min(entry.contact_id),
    count(*) filter (where entry.kind <> 'reaction'),
    bool_or(entry.kind = 'echo'),
    bool_or(entry.kind = 'message'),
    count(*) filter (where entry.kind = 'message' and entry.ord > coalesce(entry.last_echo, 0)),
    (array_agg(entry.profile_name order by entry.ord desc) filter (where entry.profile_name is not null))[1],
    (array_agg(entry.text order by entry.ord desc) filter (where entry.kind <> 'reaction'))[1],
    (
      array_agg(case entry.kind when 'echo' then 'outbound' else 'inbound' end order by entry.ord desc)
        filter (where entry.kind <> 'reaction')
    )[1],
    to_timestamp(
      (array_agg(coalesce(entry.sent, entry.arrived) order by entry.ord desc) filter (where entry.kind <> 'reaction'))[1]
    ),
    case
      when bool_or(entry.opens_window)
      then least(to_timestamp(max(least(entry.sent, entry.arrived)) filter (where entry.opens_window)), at)
    end,
    -- The list keeps the order of what came at one moment.
    at + (before + max(entry.ord)) * interval '1 microsecond'
  from entry
  group by entry.company_id, entry.sender_id, entry.customer_key
$$;
