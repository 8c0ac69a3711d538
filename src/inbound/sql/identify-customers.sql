-- Takes in what messages say about who has which phone number, before they are recorded. Each place of the arrays is one
-- message: the identity of the phone number, the user id, the number as digits, the wamid, epoch seconds by the provider's
-- clock (null: unknown) and by ours. A user id other than the one known for the number means a recycled number; a number other
-- than the one known for the user id, a number change. Messages that were recorded before say nothing new.
-- stale: the places of messages that are older than what is known of their number; they belong to their user id alone.
-- upto: the last place before the first message that moves a number which an earlier message names, since that one must be
-- recorded under what was known then; the first place always counts.
-- The caller holds lock_customers_and_partners.
create function identify_customers(
  company_ids bigint[], phone_identities text[], user_ids text[], phones text[], wamids text[], sent double precision[],
  arrived double precision[], at timestamptz, out stale bigint[], out upto bigint
)
language plpgsql
set enable_seqscan = off
as $$
declare
  told record;
begin
  stale := '{}';
  upto := cardinality(company_ids);
  for told in
    select *
    from told_numbers(company_ids, phone_identities, user_ids, phones, wamids, sent, arrived) as news
    where news.is_stale or news.former_user is not null or news.former_phone is not null or news.is_known_user
    order by news.ord
  loop
    if told.is_stale then
      stale := stale || told.ord;
      continue;
    end if;
    if exists (
      select
      from unnest(
        company_ids[1:told.ord - 1], phone_identities[1:told.ord - 1], user_ids[1:told.ord - 1]
      ) as earlier (company_id, phone_identity, user_id)
      where earlier.company_id = told.company_id
        and (
          earlier.phone_identity in (told.phone_identity, told.user_id, told.former_phone, told.former_user)
          or earlier.user_id in (told.user_id, told.former_user)
        )
    ) then
      upto := told.ord - 1;
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
  from told_numbers(company_ids, phone_identities, user_ids, phones, wamids, sent, arrived) as news
  where news.ord <= upto and not news.is_stale
  order by news.company_id, news.phone_identity
  on conflict do nothing;
end
$$;
