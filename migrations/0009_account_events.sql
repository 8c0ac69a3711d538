-- The journal of accounts: what the provider reports about numbers, templates and the account itself. An order of events: a
-- value remembers the time of the event that set it, and an older event does not change it.

create table account_events (
  company_id bigint not null references companies (id),
  id bigint generated always as identity,
  waba_account_id text,
  sender_id bigint, -- the number that the event names; null: the whole account
  field text not null, -- the provider's name of the kind
  event text, -- the provider's word for what happened
  severity text not null check (severity in ('info', 'warning', 'critical')),
  details jsonb, -- the value of the event; null for kinds that may name a customer
  digest bytea not null, -- of the provider's text: a repeated event adds no row
  occurred_at timestamptz, -- by the provider's clock
  received_at timestamptz not null default now(),
  primary key (company_id, id),
  constraint account_events_by_digest unique (company_id, digest)
);
comment on table account_events is 'Lifetime: 90 days';
create index account_events_by_age on account_events (received_at);
create index account_events_by_hour on account_events (company_id, received_at);
create index account_events_by_id on account_events (id);

alter table templates
  add column status_at timestamptz,
  add column category_at timestamptz,
  add column quality_at timestamptz,
  add column components_at timestamptz;
alter table senders add column limit_at timestamptz;
