-- The last UTC day on which links of a mail were followed, and how often on that day: beyond a bound, clicks are only counted.
alter table emails add column clicks_on date;
alter table emails add column clicks_of_day integer not null default 0;
