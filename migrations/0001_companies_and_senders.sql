-- Companies, API keys, limits of requests, connected WhatsApp numbers and their templates.

-- Both are created by migrate itself (src/db/migrate.ts).
comment on table migrations is 'Lifetime: kept';
comment on table sql_objects is 'Lifetime: as long as the object';

-- A company. Every key of every one of its tables begins with its id.
create table companies (
  id bigint generated always as identity primary key,
  name text not null,
  rate_limit_per_minute integer not null default 100 check (rate_limit_per_minute > 0),
  created_at timestamptz not null default now(),
  deleted_at timestamptz,
  closed_at timestamptz, -- since then it is being moved to another installation
  media_secret text -- encrypted; signed the addresses of its media where it came from
);
comment on table companies is 'Lifetime: kept';
create index companies_closed on companies (id) where closed_at is not null;

-- Global: a request finds its company by its key.
create table api_keys (
  client_id text primary key,
  company_id bigint not null references companies (id),
  name text not null,
  digest bytea not null, -- SHA-256 of the secret half
  permissions text[] not null check (permissions <> '{}'),
  allowed_origins text[] not null default '{}',
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  revoked_at timestamptz
);
comment on table api_keys is 'Lifetime: kept; a revoked key too';
create index api_keys_by_company on api_keys (company_id, created_at);
create index api_keys_with_origins on api_keys (client_id) where allowed_origins <> '{}' and revoked_at is null;

-- Sessions of the web console. Global: a request finds its company by its cookie. A session lives as long as the API key or
-- the operator's token that it comes from.
create table console_sessions (
  id bigint generated always as identity primary key,
  digest bytea not null, -- SHA-256 of the cookie's value
  company_id bigint references companies (id), -- null: a session of the operator
  client_id text not null, -- the API key that it comes from, or the operator's token as `operator:<fingerprint>`
  name text not null,
  permissions text[] not null, -- of a session of the operator: none, it has its own surface
  agent text not null, -- the browser's User-Agent
  created_at timestamptz not null default now(),
  seen_at timestamptz not null default now(), -- a minute late at most
  idle_until timestamptz not null, -- never later than ends_at
  ends_at timestamptz not null,
  constraint console_sessions_by_digest unique (digest)
);
comment on table console_sessions is 'Lifetime: until it ends: 7 days, of the operator 12 hours; unused 24 hours, of the operator 1 hour';
create index console_sessions_by_company on console_sessions (company_id, id);
create index console_sessions_by_end on console_sessions (idle_until);

-- Links that sign in to the console, each once. Global, as sessions are.
create table sign_in_links (
  digest bytea primary key, -- SHA-256 of the code in the link
  company_id bigint references companies (id), -- null: a link for the operator
  client_id text not null, -- as in console_sessions
  name text not null,
  permissions text[] not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
comment on table sign_in_links is 'Lifetime: until it is used or expires: 24 hours';
create index sign_in_links_by_company on sign_in_links (company_id, expires_at);
create index sign_in_links_by_expiry on sign_in_links (expires_at);

-- Idempotency-Key: the first answer to each key of each API key, method and path.
create table idempotency_keys (
  company_id bigint not null references companies (id),
  id bigint generated always as identity,
  client_id text not null,
  method text not null,
  path text not null,
  key text not null, -- SHA-256 of the header's value, in base64url
  digest bytea not null, -- of method, path and body bytes
  message_id bigint, -- the send that this request started
  progress jsonb, -- the progress of the work; a repeat after a crash continues from it
  answer_status smallint, -- null while the request runs
  answer_body text,
  lease_until timestamptz not null, -- renewed while the request runs; afterwards its process is dead
  created_at timestamptz not null default now(),
  primary key (company_id, id),
  constraint idempotency_keys_by_request unique (company_id, client_id, method, path, key)
);
comment on table idempotency_keys is 'Lifetime: 48 hours';
create index idempotency_keys_by_age on idempotency_keys (created_at);

-- Keys that the service generates for itself, encrypted with ENCRYPTION_KEY.
create table service_secrets (
  name text primary key,
  value text not null -- encrypted
);
comment on table service_secrets is 'Lifetime: kept';

-- Requests per minute, written by rate-limiter-flexible. Unlogged: counts that a crash loses do no harm, and
-- counting costs no WAL.
create unlogged table rate_limits (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);
comment on table rate_limits is 'Lifetime: an hour after its window';
create index rate_limits_by_expiry on rate_limits (expire);

-- Connected WhatsApp numbers.
create table senders (
  company_id bigint not null references companies (id),
  id bigint generated always as identity,
  provider text not null,
  phone_number text not null, -- as displayed
  phone text not null, -- its digits
  phone_name text not null,
  phone_number_id text not null,
  waba_account_id text not null,
  access_token text not null, -- encrypted
  app_secret text, -- encrypted
  api_base_url text,
  is_preferred boolean not null default false,
  tier smallint check (tier >= 1 and tier <= 4),
  daily_limit integer check (daily_limit > 0),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  app_id text, -- the provider's app that holds the number; its events name it
  app_name text, -- the same app as template events name it
  webhook_secret text, -- encrypted; events about the number must carry it
  connected_at timestamptz not null default now(), -- under its present number id, account and app
  throughput_per_second integer check (throughput_per_second > 0), -- null: the provider's usual throughput
  is_shared_with_app boolean not null default false, -- also used in the phone app: a lower usual throughput
  primary key (company_id, id)
);
comment on table senders is 'Lifetime: kept; a removed number too';
create unique index senders_preferred on senders (company_id) where is_preferred and deleted_at is null;
create index senders_by_account on senders (waba_account_id) where deleted_at is null;
create index senders_with_secret on senders (company_id) where app_secret is not null and deleted_at is null;
create index senders_by_app on senders (app_id) where app_id is not null and deleted_at is null;
create index senders_by_app_name on senders (app_name) where app_name is not null and deleted_at is null;
create index senders_with_webhook_secret on senders (company_id) where webhook_secret is not null and deleted_at is null;

-- Global: an inbound event names only the provider's number id. A number belongs to one company.
create table sender_routes (
  phone_number_id text primary key,
  company_id bigint not null,
  sender_id bigint not null,
  foreign key (company_id, sender_id) references senders (company_id, id)
);
comment on table sender_routes is 'Lifetime: until the number is removed';

-- The daily-limit ledger. Each customer first written to outside an open window takes the sender's next ordinal;
-- the limit is reached when the row `limit` ordinals back is younger than a day. No statement counts rows.
create table daily_limit_entries (
  company_id bigint not null,
  sender_id bigint not null,
  ordinal bigint not null,
  customer text not null,
  counted_at timestamptz not null,
  primary key (company_id, sender_id, ordinal),
  foreign key (company_id, sender_id) references senders (company_id, id)
);
comment on table daily_limit_entries is 'Lifetime: 25 hours';
create index daily_limit_entries_by_customer on daily_limit_entries (company_id, sender_id, customer, counted_at desc);

-- The last ordinal of each sender, and the throttle of the sender.
create table sender_limits (
  company_id bigint not null,
  sender_id bigint not null,
  last_ordinal bigint not null default 0, -- of the daily-limit ledger
  expired_ordinal bigint not null default 0, -- ordinals up to here were older than a day and are deleted
  next_slot_at timestamptz, -- the throttle: when the next message is on time
  primary key (company_id, sender_id),
  foreign key (company_id, sender_id) references senders (company_id, id)
);
comment on table sender_limits is 'Lifetime: as long as its sender';

-- A family is one template name on one business account; each language of it is a row of templates.
create table template_families (
  company_id bigint not null references companies (id),
  id text not null,
  waba_account_id text not null,
  name text not null,
  created_at timestamptz not null default now(),
  primary key (company_id, id),
  constraint template_families_by_name unique (company_id, waba_account_id, name)
);
comment on table template_families is 'Lifetime: as long as its templates';

-- WhatsApp templates as the provider reports them.
create table templates (
  company_id bigint not null,
  family_id text not null,
  language text not null,
  external_id text,
  status text not null check (status in ('APPROVED', 'PENDING', 'REJECTED', 'DISABLED')),
  provider_status text not null, -- the provider's own word
  category text not null,
  parameter_format text not null check (parameter_format in ('POSITIONAL', 'NAMED')),
  components jsonb not null,
  quality_score jsonb,
  rejected_reason text not null default '',
  namespace text,
  partner_id text,
  updated_external boolean not null default false,
  created_by jsonb,
  modified_by jsonb,
  created_at timestamptz not null default now(),
  modified_at timestamptz not null default now(),
  event_at timestamptz, -- when the last event about it was applied
  primary key (company_id, family_id, language),
  foreign key (company_id, family_id) references template_families (company_id, id)
);
comment on table templates is 'Lifetime: until the provider no longer lists it';
create index templates_by_external_id on templates (company_id, external_id);

-- The last event of a business account about a template that was unknown: a sync that reads the list meanwhile reads it again.
create table missed_template_events (
  company_id bigint not null references companies (id),
  waba_account_id text not null,
  at timestamptz not null,
  primary key (company_id, waba_account_id)
);
comment on table missed_template_events is 'Lifetime: kept; one row for each account';
