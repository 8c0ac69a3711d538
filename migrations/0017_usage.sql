-- Prices of messages, and counts of them by the state that the provider reported.

alter table messages
  add template text, -- the name; null: no template
  add category text, -- of the template at the time of the send, in lower case; null: no template
  add pricing jsonb, -- {category, type, billable} of the first status that had them
  add counted smallint; -- the counters of message_usage that it is in, as bits: src/conversations/usage.ts

alter table waiting_statuses add pricing jsonb;

-- Messages by their day (UTC), in sixteen rows by server process, as conversation_counts.
create table message_usage (
  company_id bigint not null,
  day date not null,
  sender_id bigint not null,
  category text not null,
  template text not null, -- empty: no template
  writer smallint not null default (pg_backend_pid() % 16),
  sent bigint not null,
  delivered bigint not null,
  read bigint not null,
  failed bigint not null,
  billable bigint not null,
  primary key (company_id, day, sender_id, category, template, writer),
  foreign key (company_id, sender_id) references senders (company_id, id)
);
comment on table message_usage is 'Lifetime: as long as its company';
