-- Makes the partition of a table that takes rows with a key, however the clock came to it; does nothing if it is there.
create function make_partition(parent text, key bigint)
returns void
language plpgsql
as $$
begin
  if parent = 'messages' then
    perform make_message_month((key / 1000000000000)::integer);
  elsif parent in ('envelopes', 'deliveries', 'delivery_attempts') then
    perform make_delivery_day(key::integer);
  else
    raise invalid_parameter_value using message = format('The partitions of %s are not made on demand', parent);
  end if;
end
$$;
