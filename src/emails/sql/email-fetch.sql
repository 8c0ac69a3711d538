-- A fetch of a tracked address whose token is ours: an open (link 0) or a click (link 1…).
create type email_fetch as (
  place integer, -- among the fetches that were recorded together, from 1
  company_id bigint,
  email_id bigint,
  link integer,
  target text, -- of the link
  counted boolean, -- false: only looked up
  machine boolean
);
