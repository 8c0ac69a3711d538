-- Requests a minute that the console sessions of a company share.
alter table companies add column session_rate_limit_per_minute integer not null default 3000;
alter table companies
  add constraint companies_session_rate_limit_check check (session_rate_limit_per_minute > 0) not valid;
alter table companies validate constraint companies_session_rate_limit_check;

-- Whether console sessions with the role agent may erase contacts.
alter table companies add column agents_may_erase boolean not null default false;

-- Whether a session began with the API key itself, and not with a link of the key.
alter table console_sessions add column is_of_key boolean not null default false;
