-- What the people who answer customers share: their names, to assign conversations to; texts that they use again; and whether
-- customers see what they read.

-- Names that conversations are assigned to: of people who have or had a session of the console, and those that the API assigned.
create table assignees (
  company_id bigint not null references companies,
  name text not null,
  signed_in_at timestamptz, -- the last time; null: it was only assigned
  primary key (company_id, name)
);
comment on table assignees is 'Lifetime: kept; of a company the 1,000 that signed in last';

insert into assignees (company_id, name, signed_in_at)
select company_id, name, max(signed_in_at)
from (
  select distinct company_id, assignee as name, null::timestamptz as signed_in_at
  from conversation_activity
  where assignee is not null
  union all
  select company_id, name, created_at
  from console_sessions
  where company_id is not null and char_length(name) <= 100
) as found
group by company_id, name;

create table quick_replies (
  company_id bigint not null references companies,
  id bigint generated always as identity,
  title text not null,
  text text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (company_id, id)
);
comment on table quick_replies is 'Lifetime: kept until it is deleted';
create unique index quick_replies_by_title on quick_replies (company_id, lower(title));

alter table companies add column read_receipts boolean not null default true; -- the console marks what is read at the provider, and shows typing
