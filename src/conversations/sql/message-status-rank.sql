-- How far a message has come. Events arrive in any order and repeatedly: the highest rank wins.
create function message_status_rank(status text)
returns integer
language sql immutable parallel safe
as $$
  select case status
    when 'pending' then 0
    when 'unknown' then 1
    when 'sent' then 2
    when 'failed' then 3
    when 'delivered' then 4
    when 'read' then 5
    else 0
  end
$$;
