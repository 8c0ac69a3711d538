-- Messages by the month of their id (docs/decisions/0016-messages-by-month.md). The table so far becomes the partition of the ids
-- below 10^12 and is not rewritten. Attaching reads it once, under a lock, unless the constraint messages_before_months was added
-- and validated before (docs/backup.md, Upgrading).

alter table messages rename to messages_before_months;
alter table messages_before_months rename constraint messages_pkey to messages_before_months_pkey;
alter table messages_before_months rename constraint messages_by_seq to messages_before_months_by_seq;
alter index messages_by_wamid rename to messages_before_months_by_wamid;
alter index messages_by_provider_id rename to messages_before_months_by_provider_id;
alter index messages_pending rename to messages_before_months_pending;

-- A month is dropped without a look at other tables, and without a lock on them.
alter table messages_before_months drop constraint messages_company_id_conversation_id_fkey;
alter table media drop constraint media_company_id_message_id_fkey;
alter table message_status_events drop constraint message_status_events_company_id_message_id_fkey;

create sequence message_ids;
select setval('message_ids', last_value, is_called) from messages_id_seq;
alter table messages_before_months alter column id drop identity;
alter sequence message_ids rename to messages_id_seq;

create table messages (
  like messages_before_months including defaults including constraints including comments,
  primary key (company_id, id)
) partition by range (id);
alter table messages drop constraint if exists messages_before_months;
-- As next_message_id() makes it, which later versions may create again: its month since January 1970 (UTC), times 10^12, and a
-- number.
alter table messages alter column id set default (
  (extract(year from clock_timestamp() at time zone 'UTC') - 1970) * 12
    + extract(month from clock_timestamp() at time zone 'UTC') - 1
)::bigint * 1000000000000 + nextval('messages_id_seq');
comment on table messages is 'Lifetime: MESSAGE_DAYS (default: kept)';
create index messages_by_provider_id on messages (company_id, provider_message_id) where provider_message_id is not null;
create index messages_pending on messages (created_at) where status = 'pending';

do $$
begin
  if not exists (
    select from pg_constraint
    where conrelid = 'messages_before_months'::regclass and conname = 'messages_before_months'
  ) then
    alter table messages_before_months add constraint messages_before_months check (id < 1000000000000);
  end if;
end
$$;
alter table messages attach partition messages_before_months for values from (minvalue) to (1000000000000);
alter table messages_before_months drop constraint messages_before_months;
