-- The country whose national numbers a company writes: of its contacts' phones without + or 00.
alter table companies add column default_country text;
alter table companies
  add constraint companies_default_country_check check (default_country ~ '^[A-Z]{2}$') not valid;
alter table companies validate constraint companies_default_country_check;

-- That of its company when the import was queued.
alter table contact_imports add column default_country text;
