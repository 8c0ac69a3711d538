-- Learns from items which phone number belongs to which user id, before they are recorded. A user id other than the one
-- known for the number means a recycled number; a number other than the one known for the user id, a number change. Items
-- that were recorded before report nothing new. Items older than what is known about their number belong to their user id
-- alone.
--
-- Returns the items that can be recorded together: all up to the first that moves a number which an earlier item names,
-- since the earlier one must be recorded under what was known then. The first item is always among them.
-- The caller holds lock_customers_and_partners.
create function identify_customers(items inbound_item[], at timestamptz)
returns inbound_item[]
language plpgsql
as $$
declare
  known inbound_item[] := items;
  told record;
begin
  for told in
    select *
    from reported_numbers(items) as news
    where news.is_stale or news.former_user is not null or news.former_phone is not null or news.is_known_user
    order by news.ord
  loop
    if told.is_stale then
      known[told.ord].customer := told.user_id;
      known[told.ord].other := null;
      known[told.ord].phone := null;
      continue;
    end if;
    if exists (
      select
      from unnest(items[1:told.ord - 1]) as earlier
      where earlier.company_id = told.company_id
        and (
          earlier.customer in (told.phone_identity, told.user_id, told.former_phone, told.former_user)
          or earlier.other in (told.user_id, told.former_user)
        )
    ) then
      known := known[1:told.ord - 1];
      exit;
    end if;
    if told.former_user is not null then
      perform release_phone(told.company_id, told.phone_identity, told.former_user, at);
    end if;
    if told.former_phone is not null or told.is_known_user then
      perform move_customer(
        told.company_id, coalesce(told.former_phone, told.user_id), told.phone_identity, told.phone, at
      );
    end if;
    delete from customer_user_ids where (company_id, user_id) = (told.company_id, told.user_id);
  end loop;

  insert into customer_user_ids (company_id, phone_identity, user_id, reported_at)
  select news.company_id, news.phone_identity, news.user_id, news.sent_at
  from reported_numbers(known) as news
  where not news.is_stale
  order by news.company_id, news.phone_identity
  on conflict do nothing;
  return known;
end
$$;
