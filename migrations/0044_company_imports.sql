-- The imports of companies that are running: the files that they store before their transaction are not left over.
create table company_imports (
  company_id bigint not null primary key,
  claim_id uuid not null,
  lease_until timestamptz not null
);
comment on table company_imports is 'Lifetime: until the import ends, or the next one of the company starts';
