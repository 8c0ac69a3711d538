-- Records attempts (rows of completed_attempt): completes their deliveries or makes them due again. Only deliveries
-- that the claim still holds are written, so that a worker that lost its lease never overwrites another outcome. A
-- first attempt that delivered is recorded in the row of its delivery, every other in delivery_attempts.
create function complete_attempts(attempts jsonb)
returns void
language plpgsql
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  inserted constant completed_attempt[] := array(
    select input from jsonb_populate_recordset(null::completed_attempt, attempts) as input
  );
  ids constant bigint[] := array(select one.delivery_id from unnest(inserted) as one);
  first_day constant integer := (select min(one.delivery_id) / 1000000000 from unnest(inserted) as one);
  last_day constant integer := (select max(one.delivery_id) / 1000000000 from unnest(inserted) as one);
  ended bigint[];
begin
  with completed as (
    update deliveries delivery
    set
      attempts = delivery.attempts + 1,
      claim_id = null,
      lease_until = null,
      lease_expiries = 0,
      status = one.status,
      finished_at = case when one.status <> 'pending' then clock_timestamp() end,
      due_at = coalesce(clock_timestamp() + one.wait_ms * interval '1 ms', delivery.due_at),
      status_code = case when one.is_first then one.status_code else delivery.status_code end,
      response = case when one.is_first then one.response else delivery.response end,
      duration_ms = case when one.is_first then one.duration_ms else delivery.duration_ms end,
      sent_at = case when one.is_first then one.sent_at else delivery.sent_at end,
      logged_at = case when one.is_first then clock_timestamp() else delivery.logged_at end
    from (
      select input.*, input.status = 'delivered' and input.round = 1 and input.attempt = 1 as is_first
      from unnest(inserted) as input
    ) as one
    where (delivery.company_id, delivery.id) = (one.company_id, one.delivery_id)
      and delivery.id = any (ids) and delivery.day between first_day and last_day -- bounds what any plan reads
      and delivery.status = 'pending'
      and (delivery.claim_id, delivery.round, delivery.attempts) = (one.claim_id, one.round, one.attempt - 1)
    returning
      delivery.registration_id, one.company_id, one.delivery_id, one.round, one.attempt, one.status, one.status_code,
      one.response, one.error_message, one.duration_ms, one.sent_at, one.is_first, delivery.conversation_id
  ),
  logged as (
    insert into delivery_attempts (
      company_id, registration_id, delivery_id, round, attempt, status_code, response, error_message, duration_ms,
      dead_lettered, sent_at
    )
    select
      completed.company_id, completed.registration_id, completed.delivery_id, completed.round, completed.attempt,
      completed.status_code, completed.response, completed.error_message, completed.duration_ms,
      completed.status = 'dead', completed.sent_at
    from completed
    where not completed.is_first
    order by completed.sent_at, completed.delivery_id
  )
  select array_agg(completed.delivery_id) into ended
  from completed
  where completed.conversation_id is not null and completed.status <> 'pending';

  -- a statement of its own: it sees what holdBack has written under a lock that the update above waited for
  if ended is not null then
    update deliveries delivery
    set waits_for = null
    where delivery.waits_for = any (ended) and delivery.day >= first_day
      and exists (
        select from unnest(inserted) as one
        where (one.company_id, one.delivery_id) = (delivery.company_id, delivery.waits_for)
      );
  end if;
end
$$;
