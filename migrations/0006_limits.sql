-- Idempotency-Key and the shared request count.

create table idempotency_keys (
  company_id bigint not null references companies (id),
  id bigint generated always as identity,
  client_id text not null,
  method text not null,
  path text not null,
  key text not null,
  digest bytea not null,      -- of method, path and body bytes
  message_id bigint,          -- the send that this request began
  answer_status smallint,     -- null while the request runs
  answer_body text,
  lease_until timestamptz not null, -- a request that is not answered by then has died
  created_at timestamptz not null default now(),
  primary key (company_id, id),
  constraint idempotency_keys_by_request unique (company_id, client_id, method, path, key)
);

create index idempotency_keys_by_age on idempotency_keys (created_at);

-- Counts of requests per minute, written by rate-limiter-flexible. Unlogged: lost counts after a crash harm nobody,
-- and counting costs no write to disk.
create unlogged table rate_limits (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);

create index rate_limits_by_expiry on rate_limits (expire);
