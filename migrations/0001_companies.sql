-- Companies and their API keys. Both are global tables: they are how a request finds its company.

create table companies (
  id bigint generated always as identity primary key,
  name text not null,
  rate_limit_per_minute integer not null default 100 check (rate_limit_per_minute > 0),
  created_at timestamptz not null default now(),
  deleted_at timestamptz
);

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

create index api_keys_by_company on api_keys (company_id, created_at);
create index api_keys_with_origins on api_keys (client_id) where allowed_origins <> '{}' and revoked_at is null;
