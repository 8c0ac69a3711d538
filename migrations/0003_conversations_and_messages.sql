-- Conversations, messages, statuses, reactions and copies of media.

-- One conversation for each sender and customer.
create table conversations (
  company_id bigint not null,
  id bigint generated always as identity,
  sender_id bigint not null,
  customer text not null, -- identity of the number, or user id; #id: a group; ~id: found through customer_aliases alone
  contact_id bigint not null,
  profile_name text,
  status text not null default 'open' check (status in ('open', 'closed', 'snoozed')),
  unread_messages integer not null default 0,
  message_count bigint not null default 0, -- also the seq of the last message
  expired_count bigint not null default 0, -- messages up to this seq were older than MESSAGE_DAYS and are deleted
  last_text text,
  last_direction text check (last_direction in ('inbound', 'outbound')),
  last_message_at timestamptz,
  last_inbound_at timestamptz, -- opens the 24-hour window
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  next_message_at timestamptz, -- the throttle: when the next message to this customer is on time
  primary key (company_id, id),
  constraint conversations_by_customer unique (company_id, sender_id, customer),
  foreign key (company_id, contact_id) references contacts (company_id, id),
  foreign key (company_id, sender_id) references senders (company_id, id)
) with (
  -- Each message updates its conversation: without room in the page, the new version needs an entry in every index.
  fillfactor = 80
);
comment on table conversations is 'Lifetime: kept';
create index conversations_by_contact on conversations (company_id, contact_id);

-- The columns that the list of conversations is ordered and filtered by: the last activity by the server's clock, and
-- copies of members of the conversation. It changes with each message, so it is apart from the wide row, which no index
-- has to follow then (docs/decisions/0009).
create table conversation_activity (
  company_id bigint not null,
  conversation_id bigint not null,
  active_at timestamptz not null,
  sender_id bigint not null,
  status text not null default 'open' check (status in ('open', 'closed', 'snoozed')),
  is_unread boolean not null default false,
  assignee text check (length(assignee) <= 100), -- the name of the person who answers; kept here alone
  primary key (company_id, conversation_id),
  foreign key (company_id, conversation_id) references conversations (company_id, id)
);
comment on table conversation_activity is 'Lifetime: as long as its conversation';
create index conversation_activity_by_time on conversation_activity (company_id, active_at, conversation_id);
create index conversation_activity_by_status on conversation_activity (company_id, status, active_at, conversation_id);
create index conversation_activity_by_sender on conversation_activity (company_id, sender_id, active_at, conversation_id);
create index conversation_activity_unread on conversation_activity (company_id, active_at, conversation_id) where is_unread;
create index conversation_activity_assigned on conversation_activity (company_id, assignee, active_at, conversation_id)
  where assignee is not null;

-- The number of conversations of a company, in sixteen rows by server process: in one row, all transactions that
-- create conversations would wait for each other.
create table conversation_counts (
  company_id bigint not null references companies (id),
  total bigint not null,
  writer smallint not null default (pg_backend_pid() % 16),
  primary key (company_id, writer)
);
comment on table conversation_counts is 'Lifetime: as long as its company';

-- Processes with open live streams: notices are sent while there is one.
create unlogged table live_listeners (
  id uuid primary key,
  listens_until timestamptz not null
);
comment on table live_listeners is 'Lifetime: an hour after its process has stopped listening';

-- Other identities under which a provider reports the same customer: a number other than the one dialled, a user id.
create table customer_aliases (
  company_id bigint not null,
  sender_id bigint not null,
  alias text not null,
  customer text not null,
  primary key (company_id, sender_id, alias),
  foreign key (company_id, sender_id) references senders (company_id, id)
);
comment on table customer_aliases is 'Lifetime: as long as its conversation';
create index customer_aliases_by_customer on customer_aliases (customer, company_id, sender_id);

-- The user id that the provider last reported with a phone number. Another one means that the number is another person's.
create table customer_user_ids (
  company_id bigint not null references companies (id),
  phone_identity text not null,
  user_id text not null,
  reported_at timestamptz not null, -- by the provider's clock: an older message does not move the number
  primary key (company_id, phone_identity),
  constraint customer_user_ids_by_user unique (company_id, user_id)
);
comment on table customer_user_ids is 'Lifetime: until another user id is reported with the number';

-- All messages of all conversations.
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
  provider_message_id text, -- set where the provider answers with an id of its own instead of the wamid
  is_echo boolean not null default false,
  sent_at timestamptz, -- by the provider's clock for inbound, ours for outbound
  edited_at timestamptz, -- like revoked_at, by the provider's clock
  revoked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (company_id, id),
  constraint messages_by_seq unique (company_id, conversation_id, seq),
  foreign key (company_id, conversation_id) references conversations (company_id, id)
);
comment on table messages is 'Lifetime: MESSAGE_DAYS (default: kept)';
create unique index messages_by_wamid on messages (company_id, wamid) where wamid is not null;
create index messages_by_provider_id on messages (company_id, provider_message_id) where provider_message_id is not null;
create index messages_pending on messages (created_at) where status = 'pending';

-- Each status that a provider reported of a message, once.
create table message_status_events (
  company_id bigint not null,
  message_id bigint not null,
  status text not null,
  error jsonb,
  occurred_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (company_id, message_id, status),
  foreign key (company_id, message_id) references messages (company_id, id)
);
comment on table message_status_events is 'Lifetime: 30 days';
create index message_status_events_by_age on message_status_events (created_at);

-- Reactions as facts; a message shows the latest one to it. A reaction may arrive before its message.
create table message_reactions (
  company_id bigint not null references companies (id),
  wamid text not null, -- the reaction's own
  target_wamid text not null,
  emoji text, -- null: the reaction was removed
  occurred_at timestamptz not null,
  ordinal bigint generated always as identity,
  primary key (company_id, wamid)
);
comment on table message_reactions is 'Lifetime: MESSAGE_DAYS (default: kept)';
create index message_reactions_by_age on message_reactions (occurred_at);
create index message_reactions_by_target on message_reactions (target_wamid, company_id, occurred_at desc, ordinal desc);

-- Edits and revokes of messages as facts. One may arrive before its message.
create table message_changes (
  company_id bigint not null references companies (id),
  wamid text not null, -- the change's own
  sender_id bigint not null,
  direction text not null check (direction in ('inbound', 'outbound')), -- of the message that may be changed
  writers text[] not null, -- identities of the customer who changes it; empty: the business does
  shown_writer text, -- the same customer as messages of groups show it
  target_wamid text not null,
  kind text not null check (kind in ('edit', 'revoke')),
  text text, -- the new text of an edit; null: it has no words
  occurred_at timestamptz not null,
  ordinal bigint generated always as identity,
  primary key (company_id, wamid)
);
comment on table message_changes is 'Lifetime: 30 days';
create index message_changes_by_age on message_changes (occurred_at);
create index message_changes_by_target on message_changes (target_wamid, company_id);

-- Statuses that name a message by the provider's own id before the answer of the send is written: applied shortly
-- after, and deleted when no message has that id.
create table waiting_statuses (
  company_id bigint not null references companies (id),
  id bigint generated always as identity,
  provider_message_id text not null,
  wamid text,
  status text, -- null: only the wamid is reported
  error jsonb,
  occurred_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (company_id, id)
);
comment on table waiting_statuses is 'Lifetime: 1 hour';
create index waiting_statuses_by_age on waiting_statuses (created_at);

-- Copies of the media of messages. The provider keeps its own for days only.
create table media (
  company_id bigint not null,
  message_id bigint not null,
  sender_id bigint not null,
  provider_media_id text not null,
  state text not null default 'pending' check (state in ('pending', 'stored', 'gone', 'failed')),
  storage_key text not null, -- chosen before the first copy, so that a repeated copy replaces itself
  mime_type text, -- in the provider's words
  filename text, -- in the customer's words
  size_bytes bigint,
  sha256 text, -- of the stored bytes, in hex
  attempts integer not null default 0, -- failed copies
  last_error text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (company_id, message_id),
  foreign key (company_id, message_id) references messages (company_id, id),
  foreign key (company_id, sender_id) references senders (company_id, id),
  constraint media_stored_is_measured check (state <> 'stored' or (size_bytes is not null and sha256 is not null))
);
comment on table media is 'Lifetime: as long as its message';
