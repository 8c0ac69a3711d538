--! breaking
-- An envelope is identified by its company, its event and its own id, so that events of several kinds about one message do
-- not collide. The id of whatsapp.message.received is the wamid.
alter table envelopes drop constraint envelopes_pkey;
alter table envelopes rename column wamid to event_id;
alter table envelopes alter column event_id type text collate "C"; -- erasure finds the events of a record by their prefix
alter table envelopes add constraint envelopes_pkey primary key (company_id, event, event_id, day);

alter table deliveries rename column wamid to event_id;
alter table deliveries alter column event_id type text collate "C";
alter table deliveries add column event text not null default 'whatsapp.message.received';
alter table deliveries alter column event drop default;
