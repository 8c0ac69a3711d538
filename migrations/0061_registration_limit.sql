-- How many webhook registrations a company may have. Companies that have more keep them.
alter table companies add column registration_limit integer not null default 50;
alter table companies
  add constraint companies_registration_limit_check check (registration_limit > 0) not valid;
alter table companies validate constraint companies_registration_limit_check;
