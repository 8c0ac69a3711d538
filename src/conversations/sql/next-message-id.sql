-- The next id of a message. By the clock, not by the start of the transaction: ids that are taken under one lock grow, also at
-- the turn of a month.
create function next_message_id()
returns bigint
language sql volatile
as $$
  select message_id_floor(clock_timestamp()) + nextval('messages_id_seq')
$$;
