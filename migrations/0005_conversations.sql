-- Conversations and their messages.

-- How far a message has come. Events arrive in any order and repeatedly: the highest rank seen is the truth.
create function message_status_rank(status text) returns integer
language sql immutable parallel safe as $$
  select case status
    when 'pending' then 0
    when 'unknown' then 1
    when 'sent' then 2
    when 'failed' then 3
    when 'delivered' then 4
    when 'read' then 5
    else 0
  end
$$;

-- One conversation per sender and customer.
create table conversations (
  company_id bigint not null,
  id bigint generated always as identity,
  sender_id bigint not null,
  customer text not null, -- the customer's identity: of his phone number, or his user id
  contact_id bigint not null,
  profile_name text,
  status text not null default 'open' check (status in ('open', 'closed', 'snoozed')),
  unread_messages integer not null default 0,
  message_count bigint not null default 0, -- also the seq of the last message
  last_text text,
  last_direction text check (last_direction in ('inbound', 'outbound')),
  last_message_at timestamptz,
  last_inbound_at timestamptz, -- opens the 24-hour window
  active_at timestamptz not null default now(), -- when it last moved, by our clock: the order of the list
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (company_id, id),
  constraint conversations_by_customer unique (company_id, sender_id, customer),
  foreign key (company_id, sender_id) references senders (company_id, id),
  foreign key (company_id, contact_id) references contacts (company_id, id)
);

create index conversations_by_activity on conversations (company_id, active_at, id);
create index conversations_by_contact on conversations (company_id, contact_id);

-- How many conversations a company has: the list's total, without counting.
create table conversation_counts (
  company_id bigint primary key references companies (id),
  total bigint not null
);

-- Other identities under which a provider reports the same customer: a number other than the one dialled, a user id.
create table customer_aliases (
  company_id bigint not null,
  sender_id bigint not null,
  alias text not null,
  customer text not null,
  primary key (company_id, sender_id, alias),
  foreign key (company_id, sender_id) references senders (company_id, id)
);

create table messages (
  company_id bigint not null,
  id bigint generated always as identity,
  conversation_id bigint not null,
  seq bigint not null, -- 1, 2, 3 … within the conversation: a page is a range of it
  direction text not null check (direction in ('inbound', 'outbound')),
  type text not null,
  text text,
  media jsonb,
  status text not null check (status in ('received', 'pending', 'unknown', 'sent', 'failed', 'delivered', 'read')),
  error jsonb, -- {code, title, details} of a failed message
  sender_name text,
  wamid text,
  provider_message_id text, -- where the provider answers with an id of its own instead of the wamid
  is_echo boolean not null default false,
  sent_at timestamptz, -- by the provider's clock for inbound, ours for outbound
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (company_id, id),
  constraint messages_by_seq unique (company_id, conversation_id, seq),
  foreign key (company_id, conversation_id) references conversations (company_id, id)
);

create unique index messages_by_wamid on messages (company_id, wamid) where wamid is not null;
create index messages_by_provider_id on messages (company_id, provider_message_id) where provider_message_id is not null;
create index messages_pending on messages (created_at) where status = 'pending';
