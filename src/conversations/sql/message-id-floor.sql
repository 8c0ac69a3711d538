-- The first message id of a month: its number since January 1970 (UTC), times 10^12. Below 2^53 until the year 2720.
create function message_id_floor(at timestamptz)
returns bigint
language sql immutable parallel safe
as $$
  select (
    (extract(year from at at time zone 'UTC') - 1970) * 12 + extract(month from at at time zone 'UTC') - 1
  )::bigint * 1000000000000
$$;
