-- Connected WhatsApp numbers, the route from a provider's number id to them, and whom they reached first.

create table senders (
  company_id bigint not null references companies (id),
  id bigint generated always as identity,
  provider text not null,
  phone_number text not null, -- as displayed
  phone text not null,        -- its digits
  phone_name text not null,
  phone_number_id text not null,
  waba_account_id text not null,
  access_token text not null, -- encrypted
  app_secret text,            -- encrypted
  api_base_url text,
  is_preferred boolean not null default false,
  tier smallint check (tier between 1 and 4),
  daily_limit integer check (daily_limit > 0),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  primary key (company_id, id)
);

create unique index senders_preferred on senders (company_id) where is_preferred and deleted_at is null;
create index senders_by_account on senders (waba_account_id) where deleted_at is null;

-- Global: an inbound event knows only the provider's number id. A number belongs to one company.
create table sender_routes (
  phone_number_id text primary key,
  company_id bigint not null,
  sender_id bigint not null,
  foreign key (company_id, sender_id) references senders (company_id, id)
);

-- The rolling daily limit. Each customer first written to outside an open window takes the sender's next ordinal;
-- the limit is reached when the row `limit` ordinals back is younger than a day. No counting, at any volume.
create table sender_reach (
  company_id bigint not null,
  sender_id bigint not null,
  ordinal bigint not null,
  customer text not null,
  reached_at timestamptz not null,
  primary key (company_id, sender_id, ordinal),
  foreign key (company_id, sender_id) references senders (company_id, id)
);

create index sender_reach_by_customer on sender_reach (company_id, sender_id, customer, reached_at desc);

create table sender_reach_counts (
  company_id bigint not null,
  sender_id bigint not null,
  reached bigint not null default 0,   -- the last ordinal given out
  forgotten bigint not null default 0, -- ordinals up to here were older than a day and are gone
  primary key (company_id, sender_id),
  foreign key (company_id, sender_id) references senders (company_id, id)
);
create index senders_with_secret on senders (company_id) where app_secret is not null and deleted_at is null;
