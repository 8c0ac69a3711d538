-- Who writes many contacts at once has each statement planned for what the tables are now (people-lock.ts). A plan that
-- was kept since there were no contacts finds people in whatever index begins with their company: in a new installation
-- one thousand rows of a list could take a minute.
alter function lock_contacts(bigint, text[], text[], bigint[], text[]) reset plan_cache_mode;
