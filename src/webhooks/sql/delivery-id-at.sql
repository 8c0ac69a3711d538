-- The smallest id of deliveries of this day (since 1970) that were made at a time or later, else the first id of the next day.
-- Ids of a day grow with the time of their transactions' ends, so the id is exact to the duration of a transaction.
create function delivery_id_at(requested_day integer, at timestamptz)
returns bigint
language plpgsql stable
as $$
declare
  low bigint := requested_day * 1000000000::bigint;
  high bigint := (requested_day + 1) * 1000000000::bigint;
  middle bigint;
  found record;
begin
  while low < high loop
    middle := (low + high) / 2;
    select delivery.id, delivery.created_at into found
    from deliveries delivery
    where delivery.day = requested_day and delivery.id >= middle
    order by delivery.id
    limit 1;
    if found.id is null or found.created_at >= at then
      high := middle;
    else
      low := found.id + 1;
    end if;
  end loop;
  return low;
end
$$;
