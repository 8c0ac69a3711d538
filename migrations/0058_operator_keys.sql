-- The Idempotency-Keys of the operator's API: idempotency_keys belong to companies.
create table operator_keys (
  company_id bigint not null default 0, -- always 0: the statements are those of idempotency_keys
  id bigint generated always as identity primary key,
  client_id text not null,
  method text not null,
  path text not null,
  key text not null, -- SHA-256
  digest bytea not null,
  message_id bigint,
  progress jsonb,
  answer_status smallint,
  answer_body text, -- encrypted when it has a secret
  lease_until timestamptz not null,
  created_at timestamptz not null default now(),
  constraint operator_keys_by_request unique (company_id, client_id, method, path, key)
);
create index operator_keys_by_age on operator_keys (created_at);
comment on table operator_keys is 'Lifetime: 48 hours';
