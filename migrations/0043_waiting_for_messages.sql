-- Statuses, edits and revokes wait for their message on every transport, and are looked for again at growing intervals.

alter table waiting_statuses
  alter column provider_message_id drop not null, -- null: the status has a wamid only
  add column sender_id bigint, -- null: stored by an earlier version
  add column recipient_phone text, -- digits
  add column look_at timestamptz not null default now(); -- when to look for the message next
comment on table waiting_statuses is 'Lifetime: 24 hours';
create index waiting_statuses_by_wamid on waiting_statuses (company_id, wamid);
create index waiting_statuses_by_look on waiting_statuses (look_at);

alter table message_changes
  add column created_at timestamptz not null default now(),
  add column look_at timestamptz; -- when to look for the message next; null: it was there, or its own arrival applies the change
create index message_changes_by_look on message_changes (look_at) where look_at is not null;
