-- Events that providers post, background jobs, webhook registrations and deliveries.

-- Raw events. A row exists from the commit that allows the answer 200 until the transaction that writes everything
-- that follows from it. Global: the company is known only when the event is parsed. An event about several numbers
-- has a row for each, so that a lane holds everything about a number, in order.
create table inbound_events (
  lane smallint not null, -- of the number's hash; from 64 on: events that are handled alone (src/inbound/lane.ts)
  id bigint generated always as identity,
  part text not null default '', -- the number whose items this row holds
  others text[] not null default '{}', -- the event's other numbers, which have rows of their own
  body bytea not null,
  received_at timestamptz not null default now(),
  done integer not null default 0, -- the row's first items, which earlier transactions handled
  signature bytea, -- of X-Hub-Signature-256: an HMAC-SHA256 of the body
  secret_mac bytea, -- HMAC-SHA256 of the body under the webhook secret that came with it
  is_checked boolean not null default false, -- a requeued item whose origin was checked
  address text, -- the client that posted it; null: requeued
  primary key (lane, id)
);
comment on table inbound_events is 'Lifetime: until it is processed';

-- Bodies of which items could not be routed, as posted, once for all their items, with what came along to prove their
-- origin: checked when the number is connected. They live seven days.
create table inbound_bodies (
  event_id bigint primary key, -- of inbound_events
  body bytea not null,
  signature bytea,
  secret_mac bytea,
  received_at timestamptz not null
);
comment on table inbound_bodies is 'Lifetime: 7 days';
create index inbound_bodies_by_age on inbound_bodies (received_at);

-- Items that could not be routed or processed, each with the provider's JSON for it. They are requeued when the
-- number is connected or when the operator asks.
create table inbound_items (
  id bigint generated always as identity primary key,
  state text not null check (state in ('unroutable', 'unverified', 'failed', 'unreadable')),
  reason text not null,
  phone_number_id text,
  waba_account_id text,
  body bytea not null,
  received_at timestamptz not null,
  created_at timestamptz not null default now(),
  app text,
  event_id bigint references inbound_bodies (event_id) on delete set null -- null: nothing proves its origin
);
comment on table inbound_items is 'Lifetime: 7 days';
create index inbound_items_by_age on inbound_items (received_at);
create index inbound_items_by_event on inbound_items (event_id) where event_id is not null;
create index inbound_items_by_state on inbound_items (state, id);
create index inbound_items_by_number on inbound_items (phone_number_id) where state in ('unroutable', 'unverified');
create index inbound_items_by_account on inbound_items (waba_account_id) where state in ('unroutable', 'unverified');
create index inbound_items_by_app on inbound_items (app) where state in ('unroutable', 'unverified');

-- Bytes and items that clients posted and that could not be routed, in windows of an hour that begin with the first
-- one.
create table unhandled_counts (
  address text primary key,
  bytes bigint not null,
  items bigint not null,
  window_ends_at timestamptz not null,
  is_spent boolean generated always as (bytes > 16 * 1024 * 1024 or items > 10000) stored
);
comment on table unhandled_counts is 'Lifetime: 1 hour';
create index unhandled_counts_by_end on unhandled_counts (window_ends_at);
create index unhandled_counts_spent on unhandled_counts (window_ends_at) where is_spent;

-- Leased jobs (docs/decisions/0001-leased-jobs.md). A job is waiting (no claim_id, no failed_at), leased (lease_until),
-- or failed (failed_at). Each state has its own index.
create table jobs (
  id bigint generated always as identity primary key,
  kind text collate "C" not null,
  lane text collate "C" not null, -- the key whose backlog must not delay others; it belongs to one company or to none
  company_id bigint, -- null: work for the whole service
  subject_id bigint not null, -- the row that the job is about
  once boolean not null default false, -- the subject has at most one job of this kind
  due_at timestamptz not null default now(),
  attempts integer not null default 0, -- failed runs that a handler reported
  lease_expiries integer not null default 0, -- leases that expired since the last report
  claim_id uuid, -- one for each batch claimed together; completing must name it
  lease_until timestamptz,
  failed_at timestamptz,
  last_error text check (length(last_error) <= 500),
  created_at timestamptz not null default now(),
  constraint jobs_failed_without_claim check (failed_at is null or claim_id is null),
  constraint jobs_leased_with_claim check ((claim_id is null) = (lease_until is null))
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.5
);
comment on table jobs is 'Lifetime: until it is done; 30 days after it was given up';
create index jobs_waiting on jobs (kind, lane, due_at, id) where claim_id is null and failed_at is null;
create index jobs_leased on jobs (kind, lease_until) where lease_until is not null;
create index jobs_failed on jobs (kind, subject_id) where failed_at is not null;
create index jobs_by_failure on jobs (failed_at) where failed_at is not null;
create unique index jobs_once on jobs (kind, subject_id, company_id) nulls not distinct where once;

-- Webhook registrations.
create table registrations (
  company_id bigint not null references companies (id),
  id bigint generated always as identity,
  name text not null,
  url text not null,
  events text[] not null check (events <> '{}'),
  status text not null default 'active' check (status in ('active', 'inactive')),
  method text not null default 'POST' check (method in ('POST', 'GET')),
  static_headers text, -- encrypted: JSON of [{key, value}], in the order given; null: none
  secret text, -- encrypted
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  primary key (company_id, id)
);
comment on table registrations is 'Lifetime: kept';
create index registrations_living on registrations (company_id, id) where deleted_at is null;

-- Envelopes, deliveries and attempts (docs/decisions/0007-one-row-per-delivery.md) have one partition for each day in UTC,
-- made and dropped by make_delivery_days and drop_delivery_day. `day` counts the days since 1970; an id begins with its day:
-- day * 1000000000 + n. Deliveries and attempts take their ids from one sequence, since both are rows of the log.
create sequence delivery_ids maxvalue 999999999 cycle;

-- The body of deliveries, serialised once: the same bytes are signed, sent, logged and delivered again. An envelope and its
-- deliveries have the same day.
create table envelopes (
  company_id bigint not null,
  day integer not null default (now() at time zone 'UTC')::date - date '1970-01-01',
  wamid text not null,
  event text not null,
  message_id bigint, -- null for a reaction, which is no message
  body text not null,
  delivery_ids bigint[] not null default '{}', -- its deliveries: erasure finds them without an index
  created_at timestamptz not null default now(),
  primary key (company_id, wamid, day)
) partition by range (day);
comment on table envelopes is 'Lifetime: DELIVERY_LOG_DAYS (default: 30)';

-- One row for each registration and message, leased in place like a row of jobs: the same columns, in the same states. That a
-- message comes once is said by the keys of messages, message_reactions and message_changes. A first attempt that delivered is
-- recorded here: its log entry has the id of the delivery.
create table deliveries (
  company_id bigint not null,
  id bigint not null
    default ((now() at time zone 'UTC')::date - date '1970-01-01') * 1000000000::bigint + nextval('delivery_ids'),
  day integer not null default (now() at time zone 'UTC')::date - date '1970-01-01',
  registration_id bigint not null,
  lane text collate "C" not null generated always as (company_id::text || '.' || registration_id::text) stored,
  wamid text not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'dead', 'skipped')),
  round integer not null default 1, -- 2 and more: redelivered on demand
  attempts integer not null default 0, -- made in this round
  due_at timestamptz not null default now(),
  faults integer not null default 0, -- runs that failed before an attempt was made
  lease_expiries integer not null default 0, -- leases that expired since the last report
  claim_id uuid, -- one for each batch claimed together; completing must name it
  lease_until timestamptz,
  failed_at timestamptz,
  last_error text check (length(last_error) <= 500),
  created_at timestamptz not null default now(),
  status_code integer, -- of the first attempt, when it delivered, like what follows
  response text, -- the first 64 KiB of it
  duration_ms integer,
  sent_at timestamptz,
  logged_at timestamptz,
  primary key (id, company_id, day),
  constraint deliveries_id_has_day check (id / 1000000000 = day),
  constraint deliveries_failed_without_claim check (failed_at is null or claim_id is null),
  constraint deliveries_leased_with_claim check ((claim_id is null) = (lease_until is null))
) partition by range (day);
comment on table deliveries is 'Lifetime: DELIVERY_LOG_DAYS (default: 30)';
create index deliveries_waiting on deliveries (lane, due_at, id)
  where status = 'pending' and failed_at is null and claim_id is null;
create index deliveries_leased on deliveries (lease_until) where lease_until is not null;
create index deliveries_failed on deliveries (failed_at) where failed_at is not null;
create index deliveries_logged on deliveries (company_id, registration_id, id) where sent_at is not null;
create index deliveries_by_status on deliveries (company_id, registration_id, status, id);
create index deliveries_not_logged on deliveries (company_id, registration_id, id)
  where sent_at is null and status <> 'pending';

-- One row for each attempt that failed or was repeated: all but a first one that delivered.
create table delivery_attempts (
  company_id bigint not null,
  id bigint not null
    default ((now() at time zone 'UTC')::date - date '1970-01-01') * 1000000000::bigint + nextval('delivery_ids'),
  day integer not null default (now() at time zone 'UTC')::date - date '1970-01-01',
  registration_id bigint not null,
  delivery_id bigint not null,
  round integer not null,
  attempt integer not null,
  status_code integer,
  response text, -- the first 64 KiB of it
  error_message text,
  duration_ms integer not null,
  dead_lettered boolean not null default false,
  sent_at timestamptz not null,
  created_at timestamptz not null default now(),
  primary key (company_id, registration_id, id, day)
) partition by range (day);
comment on table delivery_attempts is 'Lifetime: DELIVERY_LOG_DAYS (default: 30)';
create index delivery_attempts_failed on delivery_attempts (company_id, registration_id, id)
  where error_message is not null;
create index delivery_attempts_of_delivery on delivery_attempts (company_id, delivery_id);
