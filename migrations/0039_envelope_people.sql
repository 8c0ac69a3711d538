-- The events for receivers that name a person otherwise than through a message of that person's conversation: reactions, edits,
-- revocations, messages in groups, and events that outlive their message or mail. An erasure finds them here; a plain message,
-- which it finds by the row of the message, costs no row.
create table envelope_people (
  company_id bigint not null,
  person text not null, -- the identity of a phone number, a user id, mailto:…, or conversation:…
  event text not null,
  event_id text not null,
  day integer not null,
  created_at timestamptz not null default now(),
  primary key (company_id, person, event, event_id, day)
);
comment on table envelope_people is 'Lifetime: DELIVERY_LOG_DAYS (default: 30)';
create index envelope_people_by_event on envelope_people (company_id, event_id);
create index envelope_people_by_age on envelope_people (created_at);

-- Envelopes from before this table. Their text may hold what jsonb does not take.
insert into envelope_people (company_id, person, event, event_id, day, created_at)
select envelope.company_id, named.person, envelope.event, envelope.event_id, envelope.day, envelope.created_at
from envelopes envelope
cross join lateral (
  select substring(envelope.body from '"contact":\{"phone":"([0-9]+)"')
  union
  select substring(envelope.body from '"contact":\{[^{}]*"userId":"([^"]+)"')
) as named (person)
where envelope.event = 'whatsapp.message.received' and named.person is not null
  and (envelope.message_id is null or envelope.body ~ '"groupId":"');

alter table message_reactions add writers text[]; -- the identities of the customer; null: from before
alter table waiting_statuses add recipients text[]; -- the identities of the recipient; null: from before
