-- When a delivery ended, so that a redelivery renews only what had ended when it was requested. Null for those of earlier versions.
alter table deliveries add column finished_at timestamptz;

-- Ranges of deliveries that a job renews, in the order of their ids.
create table redeliveries (
  company_id bigint not null,
  id bigint generated always as identity,
  registration_id bigint not null,
  since timestamptz not null,
  until timestamptz not null,
  only_dead_lettered boolean not null,
  renewed_up_to bigint not null default 0,
  requested_at timestamptz not null default clock_timestamp(),
  primary key (company_id, id)
);
create index redeliveries_of_registration on redeliveries (company_id, registration_id);
comment on table redeliveries is 'Lifetime: until the deliveries of the range are renewed';
comment on column redeliveries.renewed_up_to is 'Id of the last delivery of the range that the job has seen';
