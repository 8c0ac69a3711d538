-- Records attempts, one element of each array for each: completes their deliveries or makes them due again in `wait_ms`. Only
-- what its claim still holds is written, so that a worker that lost its lease overrides nobody's outcome. A first attempt
-- that delivered is recorded in the row of its delivery, every other in delivery_attempts. The ids must differ.
create function complete_attempts(
  company_ids bigint[],
  delivery_ids bigint[],
  claim_ids uuid[],
  rounds integer[],
  numbers integer[], -- of the attempts: 1 to 5
  statuses text[], -- of the deliveries afterwards
  wait_ms double precision[],
  status_codes integer[],
  responses text[],
  error_messages text[],
  durations_ms integer[],
  sent timestamptz[]
)
returns void
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
  first_day constant integer := (select min(given.id) / 1000000000 from unnest(delivery_ids) as given (id));
  last_day constant integer := (select max(given.id) / 1000000000 from unnest(delivery_ids) as given (id));
begin
  with completed as (
    update deliveries delivery
    set
      attempts = delivery.attempts + 1,
      claim_id = null,
      lease_until = null,
      lease_expiries = 0,
      (status, due_at, status_code, response, duration_ms, sent_at, logged_at) = (
        select
          statuses[place],
          case when wait_ms[place] is null then delivery.due_at
            else clock_timestamp() + wait_ms[place] * interval '1 ms' end,
          case when is_first then status_codes[place] else delivery.status_code end,
          case when is_first then responses[place] else delivery.response end,
          case when is_first then durations_ms[place] else delivery.duration_ms end,
          case when is_first then sent[place] else delivery.sent_at end,
          case when is_first then clock_timestamp() else delivery.logged_at end
        from (
          select place, statuses[place] = 'delivered' and rounds[place] = 1 and numbers[place] = 1 as is_first
          from (select array_position(delivery_ids, delivery.id) as place) as found
        ) as given
      )
    where delivery.id = any (delivery_ids) and delivery.day between first_day and last_day
      and delivery.status = 'pending'
      and (delivery.company_id, delivery.claim_id, delivery.round, delivery.attempts) = (
        select company_ids[place], claim_ids[place], rounds[place], numbers[place] - 1
        from (select array_position(delivery_ids, delivery.id) as place) as found
      )
    returning delivery.company_id, delivery.registration_id, delivery.id
  )
  insert into delivery_attempts (
    company_id, registration_id, delivery_id, round, attempt, status_code, response, error_message, duration_ms,
    dead_lettered, sent_at
  )
  select
    completed.company_id, completed.registration_id, completed.id, rounds[place], numbers[place], status_codes[place],
    responses[place], error_messages[place], durations_ms[place], statuses[place] = 'dead', sent[place]
  from completed
  cross join lateral (select array_position(delivery_ids, completed.id) as place) as found
  where not (statuses[place] = 'delivered' and rounds[place] = 1 and numbers[place] = 1)
  order by place;
end
$$;
