-- The first half of a send, for many sends at once: decides whether each may go out now, finds or creates contact and
-- conversation, and writes the pending message. One call is one transaction. It locks first and looks afterwards, in later
-- statements, so its decisions hold across processes.
--
-- items: an array of send_item. pair_*: one customer gets pair_burst messages at once, then one per pair_seconds. An item
-- whose slot comes within longest_wait takes it and is told how long to wait; a later one is refused.
-- refusal: 'consent', 'window', 'limit' or 'throttle'; 'key': its Idempotency-Key was released or claimed by a repeated request; 'busy': another
-- transaction holds the lock of its customer. A refused item has written nothing and taken no slot.
create function prepare_sends(
  items jsonb,
  at timestamptz,
  pair_seconds double precision,
  pair_burst integer,
  longest_wait double precision
)
returns table (
  ord integer,
  refusal text,
  last_inbound_at timestamptz,
  retry_at timestamptz,
  wait_seconds double precision,
  conversation_id bigint,
  message_id bigint
)
language plpgsql
set plan_cache_mode = force_generic_plan -- also of its steps: planning takes longer than running for few rows
-- One row that another session holds must not stop the sends of all companies.
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  given send_item[];
  keyed send_item[];
  locked send_item[];
  decided send_decision[];
  present timestamptz;
begin
  select array_agg(item order by item.ord) into given from jsonb_populate_recordset(null::send_item, items) as item;
  keyed := lock_send_keys(given);
  locked := lock_send_customers(keyed);
  perform lock_sender_limits(locked);

  present := clock_timestamp();
  decided := decide_sends(locked, at, present, pair_seconds, pair_burst, longest_wait);
  if exists (
    select from unnest(decided) as send
    where send.refusal is null and send.is_outside and (send.item).daily_limit is not null
  ) then
    decided := check_daily_limit(decided, at);
  end if;

  return query
  select
    (send.item).ord, send.refusal, send.last_inbound_at, send.retry_at, send.wait_seconds,
    recorded.conversation_id, recorded.message_id
  from unnest(decided) as send
  left join record_sends(decided, at, present, pair_seconds) as recorded on recorded.ord = (send.item).ord
  union all
  select item.ord, 'key', null, null, 0, null, null
  from unnest(given) as item
  where item.ord <> all (array(select kept.ord from unnest(keyed) as kept))
  union all
  select item.ord, 'busy', null, null, 0, null, null
  from unnest(keyed) as item
  where item.ord <> all (array(select kept.ord from unnest(locked) as kept));
end
$$;
