-- Files that an import of a company is storing. They are of no company yet: when the import is killed, they are found here.
create table moving_files (
  company_id bigint not null,
  storage_key text not null,
  primary key (company_id, storage_key)
);
comment on table moving_files is 'Lifetime: until the import ends, or the sweep after it was killed';
