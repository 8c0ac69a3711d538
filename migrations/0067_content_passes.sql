-- Messages of earlier versions have no kind and no content, although the stored envelope holds the provider's own text; see
-- src/inbound/handling/recording/content-sweep.ts.
create table content_passes (
  number integer primary key,
  started_at timestamptz not null default now(),
  ended_at timestamptz
);
comment on table content_passes is 'Lifetime: kept; at most two rows';
