-- Messages that are sent at a time of their own (`sendAt`). A job of kind `message.send` sends each; the message is created when it goes.

create table scheduled_messages (
  company_id bigint not null,
  id bigint generated always as identity,
  sender_id bigint not null,
  conversation_id bigint, -- the one that shows it; null: sender and recipient have none yet
  is_reply boolean not null, -- goes to the customer of the conversation, under the address of that time
  recipient text not null, -- as requested
  identity text not null, -- of the recipient
  type text not null,
  text text, -- as the conversation would show it; null: it was sent, or has none
  body jsonb, -- the request; null: it was sent or has failed
  sender_name text not null,
  send_at timestamptz not null,
  status text not null default 'scheduled' check (status in ('scheduled', 'sent', 'failed')),
  message_id bigint, -- set with status sent, in the transaction that creates the message
  error jsonb, -- {code, message} of the refusal
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  primary key (company_id, id),
  foreign key (company_id, sender_id) references senders (company_id, id),
  foreign key (company_id, conversation_id) references conversations (company_id, id)
);
comment on table scheduled_messages is 'Lifetime: 30 days after it was sent or failed';
create index scheduled_messages_by_conversation on scheduled_messages (company_id, conversation_id, status, id);
create index scheduled_messages_by_identity on scheduled_messages (company_id, identity);
create index scheduled_messages_by_status on scheduled_messages (company_id, status, id);
create index scheduled_messages_by_end on scheduled_messages (ended_at) where ended_at is not null;
