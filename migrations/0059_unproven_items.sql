-- A body may prove only some of the numbers that it names: each of its items has to prove its own number then. Processes of
-- the version before do not see such events, see src/inbound/sql/claim-events.sql.
alter table inbound_events add column needs_proof boolean not null default false;
