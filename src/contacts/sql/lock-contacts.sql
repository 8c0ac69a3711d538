-- Locks the contacts that some writes may match. Each place of the arrays is a write: the address in lower case, the phone
-- identity, and a contact's id, each or null. It first locks, in one order and waiting, the named identities, those of
-- contacts named by id, and `also`; then it looks up the matches and locks their other identities without waiting, because
-- that is out of order: `locked` lists what it holds beyond the named ones, and the caller checks that it is enough.
-- `met`: the places of the writes that match a contact.
-- Large arrays go one at a time: each holds thousands of locks, and the lock table of the server (6,400 by default) is
-- shared by all.
create function lock_contacts(
  company bigint,
  emails text[],
  phones text[],
  ids bigint[],
  also text[],
  out locked text[],
  out met integer[]
)
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  named text[];
  meant bigint[];
begin
  if cardinality(emails) > 25 then
    perform pg_advisory_xact_lock(hashtextextended('contacts in large arrays', 1));
  end if;

  -- Most of all, large arrays name nobody by id.
  if array_remove(ids, null) <> '{}' then
    select array_agg(known.identity) into locked from identities_of(company, ids) as known (identity);
  end if;

  select coalesce(array_agg(identity), '{}') into named
  from (
    select 'mailto:' || email from unnest(emails) as email where email is not null
    union all
    select phone from unnest(phones) as phone where phone is not null
    union all
    select unnest(also)
    union all
    select unnest(locked)
  ) as every (identity);
  perform lock_customers(array_fill(company, array[cardinality(named)]), named);

  select array_agg(given.place), array_agg(person.id) into met, meant
  from unnest(emails, phones) with ordinality as given (email, phone, place)
  cross join lateral (
    (
      select contacts.id
      from contacts
      where contacts.company_id = company
        and coalesce(contacts.email_key, chr(1114111) || lpad(contacts.id::text, 16, '0')) collate "C" = given.email
        and contacts.deleted_at is null
    )
    union all
    (
      select known.contact_id
      from contact_identities known
      where (known.company_id, known.identity) = (company, given.phone)
      limit 1
    )
  ) as person (id);

  if meant is not null then
    select locked || array_agg(further.identity) into locked
    from (
      select known.identity from identities_of(company, meant) as known (identity)
      except
      select unnest(named)
    ) as further
    where pg_try_advisory_xact_lock(hashtextextended(company || ':' || further.identity, 1));
  end if;
end
$$;
