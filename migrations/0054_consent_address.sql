-- The IP address from which consent was given, where a list has it.
alter table consents add column ip text;
