--! breaking
-- Contacts by the hundred thousand: what a phone number means is read from the contacts themselves, the search index is
-- made behind the writers' backs, and strangers of a list are added by one statement.

-- A contact answers to his phone number by having it. Only what a contact is known by besides has a row: a provider's
-- user id, a number that he does not have here.
alter table contact_identities rename to contact_aliases;
alter table contact_aliases rename constraint contact_identities_pkey to contact_aliases_pkey;
alter table contact_aliases
  rename constraint contact_identities_company_id_contact_id_fkey to contact_aliases_company_id_contact_id_fkey;
alter index contact_identities_by_contact rename to contact_aliases_by_contact;

delete from contact_aliases alias
using contacts
where (contacts.company_id, contacts.id) = (alias.company_id, alias.contact_id)
  and contacts.phone_identity = alias.identity
  and contacts.deleted_at is null;

-- Who is meant by an identity: the oldest living contact who has the number, else who is known by it.
create view contact_identities as
select *
from (
  select distinct on (company_id, phone_identity) company_id, phone_identity as identity, id as contact_id
  from contacts
  where phone_identity is not null and deleted_at is null
  order by company_id, phone_identity, id
) as holder
union all
select alias.company_id, alias.identity, alias.contact_id
from contact_aliases alias
where not exists (
  select
  from contacts
  where (contacts.company_id, contacts.phone_identity) = (alias.company_id, alias.identity)
    and contacts.deleted_at is null
);

drop function repoint_identities;

-- Whoever adds aliases adds them to their own table from now on. Only the name changes: the functions stay as they are.
do $$
declare
  definition text;
begin
  for definition in
    select pg_get_functiondef(oid)
    from pg_proc
    where pronamespace = 'public'::regnamespace and prosrc like '%insert into contact_identities%'
  loop
    execute replace(definition, 'insert into contact_identities', 'insert into contact_aliases');
  end loop;
end
$$;

-- One row for each statement that makes, names or ends contacts: what the count and the search do not know yet. Readers
-- take it into account; src/contacts/contact-fold.ts folds it away. It also ties the contacts to their company, once
-- for each statement where a foreign key of theirs would look it up for each contact.
create table contact_changes (
  company_id bigint not null references companies (id),
  id bigint generated always as identity,
  change integer not null,        -- of the number of living contacts
  contact_ids bigint[] not null,  -- whose words may have changed
  primary key (company_id, id)
);

insert into contact_changes (company_id, change, contact_ids)
select company_id, sum(change), '{}'
from contact_count_changes
group by company_id;

drop table contact_count_changes;
alter table contacts drop constraint contacts_company_id_fkey;

-- What contacts are found by, apart from them: a contact that changes in other ways costs the index nothing.
create table contact_words (
  company_id bigint not null,
  contact_id bigint not null,
  words text not null, -- the contact's search_text
  primary key (company_id, contact_id),
  foreign key (company_id, contact_id) references contacts (company_id, id)
);

drop index contacts_by_gram;
drop function contact_grams;

-- Every run of three characters, at the end of two and of one, each marked with its company, so that a search reads
-- nobody else's. What is shorter than three is found as the beginning of a run. The cost keeps the planner from
-- computing them row by row instead of reading the index. src/contacts/contact-search.ts asks for the same runs.
create function contact_grams(company_id bigint, words text) returns tsvector
language plpgsql immutable strict parallel safe cost 100000 as $$
declare
  mark constant text := company_id || ':';
  grams text[] := '{}';
begin
  for place in 1 .. length(words) loop
    grams[place] := mark || substr(words, place, 3);
  end loop;
  return array_to_tsvector(grams);
end
$$;

insert into contact_words (company_id, contact_id, words)
select company_id, id, search_text
from contacts
where deleted_at is null and search_text <> '';

create index contact_words_by_gram on contact_words using gin (contact_grams(company_id, words));

-- One index says whose an address is, that it is nobody else's, and the order of the list by email: who has none comes
-- after all who have one.
drop index contacts_by_email, contacts_by_email_order;
create unique index contacts_by_email
  on contacts (company_id, (coalesce(email_key, chr(1114111) || lpad(id::text, 16, '0')) collate "C"))
  where deleted_at is null;

drop index contacts_by_phone;
create index contacts_by_phone on contacts (company_id, phone_identity, id)
  where phone_identity is not null and deleted_at is null;

-- As before; who has the phone needs no alias.
create or replace function resolve_contacts(people jsonb)
returns table (company_id bigint, identity text, contact_id bigint)
language plpgsql as $$
#variable_conflict use_column
begin
  return query
  with person as (
    select distinct on (person.company_id, person.identity) person.*
    from jsonb_to_recordset(people)
      as person (company_id bigint, identity text, phone text, source text, source_type text)
    order by person.company_id, person.identity
  ),
  met as materialized (
    select
      person.*,
      person.phone is not null and person.identity ~ '^[0-9]' as has_phone,
      known.contact_id as known_id,
      case when known.contact_id is null then nextval('contacts_id_seq') end as new_id
    from person
    left join lateral (
      select known.contact_id
      from contact_identities known
      where (known.company_id, known.identity) = (person.company_id, person.identity)
      limit 1
    ) as known on true
  ),
  created as (
    insert into contacts (company_id, id, phone, phone_identity, search_text, source, source_type)
    select
      met.company_id, met.new_id, met.phone, case when met.has_phone then met.identity end,
      coalesce(met.phone, ''), met.source, met.source_type
    from met
    where met.new_id is not null
  ),
  identified as (
    insert into contact_aliases (company_id, identity, contact_id)
    select met.company_id, met.identity, met.new_id
    from met
    where met.new_id is not null and not met.has_phone
    on conflict do nothing
  ),
  counted as (
    insert into contact_changes (company_id, change, contact_ids)
    select met.company_id, count(*), array_agg(met.new_id)
    from met
    where met.new_id is not null
    group by met.company_id
  )
  select met.company_id, met.identity, coalesce(met.known_id, met.new_id)
  from met;
end
$$;

-- Locks whoever some writes may turn out to be about. Each place of the arrays is a write: the address in lower case and
-- the phone identity that it names, and a contact's id, each or null. First, in one order and waiting, the identities that
-- are named, those of contacts named by id, and `also`; then it looks who is meant and locks what else they are known by,
-- without waiting, since that would be out of order: `locked` says what it got beyond what is named, and the caller makes
-- sure that it is enough. `met`: the places of the writes that mean somebody.
-- Large arrays go one at a time: each holds thousands of locks, and the server's table of locks (6,400 by default) is
-- there for everybody.
drop function lock_contacts;
create function lock_contacts(
  company bigint, emails text[], phones text[], ids bigint[], also text[], out locked text[], out met integer[]
)
language plpgsql as $$
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
      limit 1
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

-- All that contacts are known by: the address, the phone's identity, the aliases.
create function identities_of(company bigint, ids bigint[]) returns setof text
language sql stable as $$
  with found as materialized (select distinct unnest(ids) as id)
  select identity
  from found
  cross join lateral (
    select unnest(array['mailto:' || contacts.email_key, contacts.phone_identity])
    from contacts
    where (contacts.company_id, contacts.id) = (company, found.id)
    union all
    select alias.identity
    from contact_aliases alias
    where (alias.company_id, alias.contact_id) = (company, found.id)
  ) as known (identity)
  where identity is not null
$$;

-- An import is recorded before its list comes into the vault, and tells as long as a list may be there.
alter table contact_imports
  alter column storage_key drop not null,
  drop constraint contact_imports_status_check,
  add constraint contact_imports_status_check
    check (status in ('receiving', 'queued', 'running', 'completed', 'failed'));
update contact_imports set storage_key = null where ended_at is not null;
create index contact_imports_with_list on contact_imports (created_at) where storage_key is not null;
