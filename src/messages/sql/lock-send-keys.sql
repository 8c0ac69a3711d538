-- Locks the Idempotency-Keys of sends. Returns the sends that hold theirs or have none: a key that was released, or taken
-- over by a repeated request, is no longer the send's.
create function lock_send_keys(items send_item[])
returns send_item[]
language plpgsql
as $$
begin
  if not exists (select from unnest(items) as item where item.idempotency_id is not null) then
    return items;
  end if;
  return array(
    with held as materialized (
      select key.company_id, key.id
      from idempotency_keys key
      where (key.company_id, key.id) in (select item.company_id, item.idempotency_id from unnest(items) as item)
        and key.answer_status is null
        and key.message_id is null
      for update
    )
    select item::send_item
    from unnest(items) as item
    left join held on (held.company_id, held.id) = (item.company_id, item.idempotency_id)
    where item.idempotency_id is null or held.id is not null
    order by item.ord
  );
end
$$;
