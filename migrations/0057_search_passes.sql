-- Searches of contacts and conversations fold text in one way. Rows of earlier versions are folded again, see
-- src/contacts/search/search-sweep.ts: SQL knows nothing of the folding.
create table search_passes (
  number integer primary key,
  started_at timestamptz not null default now(),
  ended_at timestamptz
);
comment on table search_passes is 'Lifetime: kept; at most two rows';
