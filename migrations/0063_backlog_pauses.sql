-- A registration whose backlog is too large stays active for messages, and gets no other events.
alter table registrations drop constraint registrations_paused_reason_check;
alter table registrations
  add constraint registrations_paused_reason_check check (paused_reason in ('no_success', 'backlog')) not valid;
alter table registrations validate constraint registrations_paused_reason_check;
alter table registrations drop constraint registrations_paused_are_inactive;
alter table registrations add constraint registrations_paused_are_inactive check (
  (paused_at is null) = (paused_reason is null)
  and (paused_at is null or status = 'inactive' or paused_reason = 'backlog')
) not valid;
alter table registrations validate constraint registrations_paused_are_inactive;

-- Events that could not be routed or processed are kept for longer.
comment on table inbound_bodies is 'Lifetime: 30 days';
comment on table inbound_items is 'Lifetime: 30 days';
