-- Keys that recognise repeats of a provider about an erased person.

create table erased_keys (
  company_id bigint not null references companies (id),
  hash text not null, -- keyed_hash of the wamid of an erased message, or of an identity of an erased person
  erased_at timestamptz not null default statement_timestamp(), -- of an identity: events that arrived before are erased, too
  primary key (company_id, hash)
);
comment on table erased_keys is 'Lifetime: 30 days';
create index erased_keys_by_age on erased_keys (erased_at);
