-- Spellings of one domain are one mailbox. Rows stored under other spellings are moved to its key, see
-- src/contacts/matching/mailbox-sweep.ts: SQL knows nothing of IDNA.
create table mailbox_passes (
  number integer primary key,
  started_at timestamptz not null default now(),
  ended_at timestamptz
);
comment on table mailbox_passes is 'Lifetime: kept; at most two rows';

-- Living contacts that became one mailbox.
create table mailbox_twins (
  company_id bigint not null references companies,
  contact_id bigint not null,
  other_id bigint not null,
  primary key (company_id, other_id),
  foreign key (company_id, contact_id) references contacts (company_id, id),
  foreign key (company_id, other_id) references contacts (company_id, id)
);
create index mailbox_twins_by_contact on mailbox_twins (company_id, contact_id);
comment on table mailbox_twins is 'Lifetime: kept; one row for each contact whose mailbox another has';
