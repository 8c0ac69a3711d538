-- Copies of the media of messages: the provider keeps its own for days only.

create table media (
  company_id bigint not null,
  message_id bigint not null,
  sender_id bigint not null,
  provider_media_id text not null,
  state text not null default 'pending' check (state in ('pending', 'stored', 'gone', 'failed')),
  storage_key text not null, -- chosen before the first copy, so that a repeated copy replaces itself and leaves nothing over
  mime_type text,            -- in the provider's words
  filename text,             -- in the customer's words
  size_bytes bigint,
  sha256 text,               -- of the bytes we keep, in hex
  attempts integer not null default 0, -- failed copies
  last_error text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (company_id, message_id),
  constraint media_stored_is_measured check (state <> 'stored' or (size_bytes is not null and sha256 is not null)),
  foreign key (company_id, message_id) references messages (company_id, id),
  foreign key (company_id, sender_id) references senders (company_id, id)
);
