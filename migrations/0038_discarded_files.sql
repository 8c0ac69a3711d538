-- Files that nothing leads to any more and that the media storage still has to delete.
create table discarded_files (
  company_id bigint not null,
  storage_key text not null,
  attempts integer not null default 0,
  due_at timestamptz not null default now(), -- of the next attempt
  created_at timestamptz not null default now(),
  primary key (company_id, storage_key)
);
comment on table discarded_files is 'Lifetime: until the media storage has deleted the file';
create index discarded_files_due on discarded_files (due_at);
