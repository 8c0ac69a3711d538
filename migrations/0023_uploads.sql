-- Files that a company uploaded to send them. Messages that carry one share its bytes.

create table uploads (
  company_id bigint not null references companies,
  id text not null, -- med_…
  storage_key text not null,
  mime_type text, -- by its bytes, like size and digest; null: it has not arrived whole
  filename text,
  size_bytes bigint,
  sha256 text,
  created_at timestamptz not null default now(),
  due_at timestamptz, -- it is deleted then unless a message carries it; null: one does
  primary key (company_id, id),
  constraint uploads_are_whole_or_not check ((mime_type is null) = (size_bytes is null) and (mime_type is null) = (sha256 is null))
);
comment on table uploads is 'Lifetime: as long as a message carries the file, and 30 days before one does; 1 hour when the file did not arrive whole';
create index uploads_due on uploads (due_at);
create index uploads_unsent on uploads (company_id) where due_at is not null;

-- The ids under which the providers have these files.
create table upload_copies (
  company_id bigint not null,
  upload_id text not null,
  sender_id bigint not null, -- the number that can send it under this id
  provider_media_id text not null,
  created_at timestamptz not null default now(), -- the provider keeps it for 30 days
  primary key (company_id, upload_id, sender_id),
  foreign key (company_id, upload_id) references uploads on delete cascade,
  foreign key (company_id, sender_id) references senders
);
comment on table upload_copies is 'Lifetime: as long as the file';

alter table media add upload_id text; -- the file whose bytes the message carries; null: it has its own under storage_key
alter table media add foreign key (company_id, upload_id) references uploads;
create index media_of_uploads on media (company_id, upload_id) where upload_id is not null;
