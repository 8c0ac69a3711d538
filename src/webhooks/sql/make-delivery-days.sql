-- Makes the partitions of envelopes, deliveries and delivery_attempts from `days_back` days ago until `days_ahead` days from
-- now, and returns how many it made.
create function make_delivery_days(days_ahead integer, days_back integer default 0)
returns integer
language sql
as $$
  select coalesce(sum(make_delivery_day(today.day + step)), 0)::integer
  from (select (now() at time zone 'UTC')::date - date '1970-01-01' as day) as today
  cross join generate_series(-least(days_back, 3650), least(days_ahead, 31)) as step
$$;
