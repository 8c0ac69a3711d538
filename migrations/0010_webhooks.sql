-- Webhook registrations, what is delivered to them, and each attempt at it.

create table registrations (
  company_id bigint not null references companies (id),
  id bigint generated always as identity,
  name text not null,
  url text not null,
  events text[] not null check (events <> '{}'),
  status text not null default 'active' check (status in ('active', 'inactive')),
  method text not null default 'POST' check (method in ('POST', 'GET')),
  headers jsonb not null default '[]', -- [{key, value}], in the order given
  secret text,                         -- encrypted
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  primary key (company_id, id)
);

create index registrations_living on registrations (company_id, id) where deleted_at is null;

-- What a receiver gets, serialised once: the same bytes are signed, sent, logged and delivered again, whatever the
-- number of registrations and attempts.
create table envelopes (
  company_id bigint not null references companies (id),
  wamid text not null,
  event text not null,
  message_id bigint, -- null for what is not kept as a message: a reaction
  body text not null,
  created_at timestamptz not null default now(),
  primary key (company_id, wamid)
);

create table deliveries (
  company_id bigint not null,
  id bigint generated always as identity,
  registration_id bigint not null,
  wamid text not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'dead', 'skipped')),
  round integer not null default 1,    -- 2 and more: delivered again on the company's demand
  attempts integer not null default 0, -- made in this round
  next_attempt_at timestamptz default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (company_id, id),
  constraint deliveries_by_wamid unique (company_id, registration_id, wamid),
  foreign key (company_id, registration_id) references registrations (company_id, id),
  foreign key (company_id, wamid) references envelopes (company_id, wamid)
) with (fillfactor = 80); -- every attempt updates its row in place

create index deliveries_by_registration on deliveries (company_id, registration_id, created_at, id);

create table delivery_attempts (
  company_id bigint not null,
  id bigint generated always as identity,
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
  primary key (company_id, registration_id, id), -- a registration's newest rows are the end of a range
  -- One row per attempt, whoever records it and however often.
  constraint delivery_attempts_once unique (company_id, delivery_id, round, attempt),
  foreign key (company_id, delivery_id) references deliveries (company_id, id)
);
