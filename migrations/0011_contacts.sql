-- Contacts as the API writes, lists and searches them: keys to match by, consent's history, counts, custom fields.

alter table contacts
  add column email_key text,               -- the address in lower case: what is compared
  add column phone_identity text,          -- of `phone`; never dialled
  add column search_text text not null default ''; -- name, email and phone in lower case, one per line

update contacts
set
  email_key = lower(contacts.email),
  phone_identity = (
    select identities.identity
    from contact_identities identities
    where (identities.company_id, identities.contact_id) = (contacts.company_id, contacts.id)
      and identities.identity ~ '^[0-9]'
  ),
  search_text = lower(concat_ws(E'\n', concat_ws(' ', first_name, last_name), email, phone));

drop index contacts_by_email;
create unique index contacts_by_email on contacts (company_id, email_key) where deleted_at is null;
create index contacts_by_phone on contacts (company_id, phone_identity, id) where deleted_at is null;

-- A page begins at a place in one of these, at any depth.
create index contacts_by_creation on contacts (company_id, created_at, id) where deleted_at is null;
create index contacts_by_update on contacts (company_id, updated_at, id) where deleted_at is null;
-- Who has no email comes after all who have one.
create index contacts_by_email_order on contacts (company_id, (coalesce(email_key, chr(1114111)) collate "C"), id)
  where deleted_at is null;

-- Every run of two and of three characters, and single characters beyond ASCII, in which one is already a word.
-- Each is marked with its company, so that a search reads nobody else's; the index keeps each once. The cost keeps
-- the planner from computing them row by row instead of reading the index. src/contacts/contact-search.ts does the
-- same with what is searched for.
create function contact_grams(company_id bigint, words text) returns text[]
language plpgsql immutable strict parallel safe cost 100000 as $$
declare
  mark text := company_id || ':';
  letters text[] := string_to_array(words, null);
  many integer := cardinality(letters);
  grams text[] := '{}';
begin
  for place in 1 .. many loop
    if octet_length(letters[place]) > 1 then
      grams := grams || (mark || letters[place]);
    end if;
    if place < many then
      grams := grams || (mark || letters[place] || letters[place + 1]);
    end if;
    if place < many - 1 then
      grams := grams || (mark || letters[place] || letters[place + 1] || letters[place + 2]);
    end if;
  end loop;
  return grams;
end
$$;

create index contacts_by_gram on contacts using gin (contact_grams(company_id, search_text)) where deleted_at is null;

create table consent_changes (
  company_id bigint not null,
  id bigint generated always as identity,
  contact_id bigint not null,
  channel text not null check (channel in ('email', 'whatsapp')),
  value boolean not null,
  client_id text,       -- the API key that made it, where one did
  source text not null, -- api, or what else made it
  at timestamptz not null default now(),
  primary key (company_id, id),
  foreign key (company_id, contact_id) references contacts (company_id, id)
);

create index consent_changes_by_contact on consent_changes (company_id, contact_id, id);

-- How many living contacts a company has: a number, and what came since. Writers only add rows, so that no two of
-- them wait for each other; readers add up and now and then fold the rows into the number.
create table contact_counts (
  company_id bigint primary key references companies (id),
  living bigint not null
);

create table contact_count_changes (
  company_id bigint not null references companies (id),
  id bigint generated always as identity,
  change integer not null,
  primary key (company_id, id)
);

insert into contact_counts (company_id, living)
select company_id, count(*)
from contacts
where deleted_at is null
group by company_id;

create table custom_fields (
  company_id bigint not null references companies (id),
  id bigint generated always as identity,
  key text not null,
  display_name text not null,
  type text not null check (type in ('text', 'number', 'boolean', 'date', 'datetime', 'select', 'json')),
  category text,
  visibility boolean not null default true,
  source text not null,
  allowed_values jsonb,
  metadata jsonb,
  created_at timestamptz not null default now(),
  primary key (company_id, id),
  constraint custom_fields_by_key unique (company_id, key)
);

-- Locks whoever a write may turn out to be about: the identities it names (`mailto:<address in lower case>`, a phone's
-- identity), the contacts it names, and every identity of the contacts that these mean. Looks before it locks, so the
-- caller looks again and makes sure that what he found is among the locked.
-- Large arrays go one at a time: each holds thousands of locks, and the server's table of locks (6,400 by default) is
-- there for everybody.
create function lock_contacts(company bigint, identities text[], ids bigint[]) returns text[]
language plpgsql as $$
declare
  locked text[];
begin
  if cardinality(identities) > 50 then
    perform pg_advisory_xact_lock(hashtextextended('contacts in large arrays', 1));
  end if;

  with found as (
    select unnest(ids) as id
    union
    select contacts.id
    from contacts
    where contacts.company_id = company
      and contacts.email_key in (
        select substr(named.identity, 8) from unnest(identities) as named (identity) where named.identity like 'mailto:%'
      )
      and contacts.deleted_at is null
    union
    select known.contact_id
    from contact_identities known
    where known.company_id = company and known.identity = any (identities)
  )
  select coalesce(array_agg(distinct meant.identity), '{}')
  into locked
  from (
    select unnest(identities) as identity
    union all
    select unnest(array['mailto:' || contacts.email_key, contacts.phone_identity])
    from found
    join contacts on (contacts.company_id, contacts.id) = (company, found.id)
    union all
    select known.identity
    from found
    join contact_identities known on (known.company_id, known.contact_id) = (company, found.id)
  ) as meant
  where meant.identity is not null;

  perform lock_customers(array_fill(company, array[cardinality(locked)]), locked);
  return locked;
end
$$;

-- After a write: each of these phone identities points to its oldest living contact again, or to nobody.
create function repoint_identities(company bigint, identities text[]) returns void
language sql as $$
  with oldest as materialized (
    select
      named.identity,
      (
        select contacts.id
        from contacts
        where (contacts.company_id, contacts.phone_identity) = (company, named.identity)
          and contacts.deleted_at is null
        order by contacts.id
        limit 1
      ) as contact_id
    from unnest(identities) as named (identity)
  ),
  gone as (
    delete from contact_identities known
    using oldest
    where (known.company_id, known.identity) = (company, oldest.identity) and oldest.contact_id is null
  )
  insert into contact_identities as known (company_id, identity, contact_id)
  select company, oldest.identity, oldest.contact_id
  from oldest
  where oldest.contact_id is not null
  on conflict (company_id, identity) do update
  set contact_id = excluded.contact_id
  where known.contact_id <> excluded.contact_id
$$;

-- As before, and what the keys, the search and the count need. The identity of a person who has a phone is the phone's.
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
      met.company_id, met.new_id, met.phone,
      case when met.phone is not null and met.identity ~ '^[0-9]' then met.identity end,
      coalesce(met.phone, ''), met.source, met.source_type
    from met
    where met.new_id is not null
  ),
  identified as (
    insert into contact_identities (company_id, identity, contact_id)
    select met.company_id, met.identity, met.new_id
    from met
    where met.new_id is not null
  ),
  counted as (
    insert into contact_count_changes (company_id, change)
    select met.company_id, count(*)
    from met
    where met.new_id is not null
    group by met.company_id
  )
  select met.company_id, met.identity, coalesce(met.known_id, met.new_id)
  from met;
end
$$;
