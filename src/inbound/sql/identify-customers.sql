-- Takes in what messages say about who has which phone number, before they are recorded. Each place of the arrays is one
-- message: the identity of the phone number, the user id, the number as digits, the wamid, epoch seconds by the provider's
-- clock (null: unknown) and by ours. A user id
-- other than the one known for the number means a recycled number; a number other than the one known for the user id, a
-- number change. Messages that were recorded before say nothing new. stale: the places of messages that are older than what is
-- known of their number; they belong to their user id alone. upto: the last place before the first message that moves a number,
-- since the messages before it must be recorded under what was known then; a move at the first place is made.
-- The caller holds lock_customers_and_partners.
create function identify_customers(
  company_ids bigint[], phone_identities text[], user_ids text[], phones text[], wamids text[], sent double precision[],
  arrived double precision[], at timestamptz, out stale bigint[], out upto bigint
)
language plpgsql
as $$
declare
  told record;
begin
  stale := '{}';
  upto := cardinality(company_ids);
  for told in
    select
      given.*,
      message.sent_at,
      holder.user_id as former_user,
      coalesce(holder.reported_at > message.sent_at, false) as is_stale,
      pair.phone_identity as former_phone,
      exists (
        select from contact_aliases known where (known.company_id, known.identity) = (given.company_id, given.user_id)
      ) as is_known_user
    from unnest(company_ids, phone_identities, user_ids, phones, wamids, sent, arrived)
      with ordinality as given (company_id, phone_identity, user_id, phone, wamid, sent, arrived, ord)
    cross join lateral (select to_timestamp(coalesce(given.sent, given.arrived)) as sent_at) as message
    left join lateral (
      select known.user_id, known.reported_at
      from customer_user_ids known
      where (known.company_id, known.phone_identity) = (given.company_id, given.phone_identity)
      limit 1
    ) as holder on true
    left join lateral (
      select known.phone_identity
      from customer_user_ids known
      where (known.company_id, known.user_id) = (given.company_id, given.user_id)
      limit 1
    ) as pair on true
    where given.user_id is not null
      and holder.user_id is distinct from given.user_id
      and not exists (
        select from messages known where (known.company_id, known.wamid) = (given.company_id, given.wamid)
      )
      and not exists (
        select from message_reactions known where (known.company_id, known.wamid) = (given.company_id, given.wamid)
      )
    order by given.ord
  loop
    if told.is_stale then
      stale := stale || told.ord;
      continue;
    end if;
    if told.ord > 1 and (told.former_user is not null or told.former_phone is not null or told.is_known_user) then
      upto := told.ord - 1;
      return;
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
    insert into customer_user_ids (company_id, phone_identity, user_id, reported_at)
    values (told.company_id, told.phone_identity, told.user_id, told.sent_at)
    on conflict do nothing;
  end loop;
end
$$;
