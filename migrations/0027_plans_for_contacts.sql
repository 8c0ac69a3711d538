-- Who writes many contacts at once has each statement planned for what the tables are now (people-lock.ts). A plan that
-- was kept since there were no contacts finds people in whatever index begins with their company: in a new installation
-- one thousand rows of a list could take a minute.
alter function lock_contacts(bigint, text[], text[], bigint[], text[]) reset plan_cache_mode;

-- As long as nothing is known of a column, one row in two hundred is expected to be null: of the first forty thousand
-- contacts one would seem to live, and every index to lead to it. So it is shown that most of them do.
insert into contacts (company_id, id, search_text, source, source_type)
overriding system value
select -1, -n, '', 'API', 'database' from generate_series(1, 100) as n;
analyze contacts (deleted_at);
delete from contacts where company_id = -1;
