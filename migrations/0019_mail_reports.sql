-- Bounces and complaints: what receiving mail servers report about emails, and the addresses that get no more marketing.

alter table emails
  drop constraint emails_status_check,
  add constraint emails_status_check check (status in ('pending', 'sent', 'failed', 'bounced')),
  add bounced_at timestamptz, -- failure_reason has the words of the report
  add complained_at timestamptz; -- the recipient called it spam

alter table email_template_counts
  add bounced bigint not null default 0, -- of the sent emails those that came back
  add complained bigint not null default 0; -- and those whose recipient called them spam

create table email_suppressions (
  company_id bigint not null references companies (id),
  address text not null, -- in lower case; of an erased person a keyed hash
  reason text not null check (reason in ('bounce', 'complaint')),
  detail text, -- the words of the report; null after an erasure
  created_at timestamptz not null default now(),
  primary key (company_id, address)
);
comment on table email_suppressions is 'Lifetime: until the operator ends it; the address of an erased person as a keyed hash';
