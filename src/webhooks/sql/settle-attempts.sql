-- Completes the jobs of attempts, or gives them another time (`after_ms`). For each job that the caller still holds it
-- inserts one log row and updates the delivery: only the holder may do that, otherwise a worker that lost its lease could
-- record a failure that overrides another's success. An attempt that is logged already, or belongs to an earlier round,
-- changes its job only.
--
-- items: [{job_id, claim_id, after_ms, round, attempt, status_code, response, error_message, duration_ms, sent_at,
--          status_after, next_attempt_at}]. The job names the delivery.
create function settle_attempts(items jsonb)
returns void
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  held bigint[]; -- the jobs that are still the caller's
  places tid[];  -- of the deliveries that still wait for just this attempt
begin
  -- Locked here, so that the next statement finds them where they are.
  select array_agg(job.id), array_agg(delivery.ctid) filter (where delivery.ctid is not null)
  into held, places
  from (
    select *
    from jsonb_to_recordset(items) as given (job_id bigint, claim_id uuid, round integer, attempt integer)
    order by given.job_id -- one order of locks for all who settle at once
  ) as given
  cross join lateral (
    select job.id, job.company_id, job.subject_id
    from jobs job
    where job.id = given.job_id and job.claim_id = given.claim_id
    for update of job
  ) as job
  left join lateral (
    select delivery.ctid
    from deliveries delivery
    where delivery.company_id = job.company_id
      and delivery.id = job.subject_id
      and delivery.round = given.round
      and delivery.attempts = given.attempt - 1
      and delivery.status = 'pending'
    for no key update of delivery
  ) as delivery on true;

  with made as materialized (
    select job.*, given.*
    from rows from (
      jsonb_to_recordset(items) as (
        job_id bigint, after_ms double precision, round integer, attempt integer, status_code integer, response text,
        error_message text, duration_ms integer, sent_at timestamptz, status_after text, next_attempt_at timestamptz
      )
    ) with ordinality as given (
      job_id, after_ms, round, attempt, status_code, response, error_message, duration_ms, sent_at, status_after,
      next_attempt_at, ord
    )
    cross join lateral (
      select job.company_id, job.lane::bigint as registration_id, job.subject_id as delivery_id
      from jobs job
      where job.id = given.job_id and given.job_id = any (held)
      limit 1
    ) as job
  ),
  ended as (
    delete from jobs job
    where job.id = any (array(select made.job_id from made where made.after_ms is null))
  ),
  again as (
    update jobs job
    set
      due_at = clock_timestamp() + (select made.after_ms from made where made.job_id = job.id) * interval '1 ms',
      claim_id = null,
      lease_until = null,
      lease_expiries = 0
    where job.id = any (array(select made.job_id from made where made.after_ms is not null))
  ),
  logged as (
    insert into delivery_attempts (
      company_id, delivery_id, registration_id, round, attempt, status_code, response, error_message, duration_ms,
      dead_lettered, sent_at
    )
    select
      company_id, delivery_id, registration_id, round, attempt, status_code, response, error_message, duration_ms,
      status_after = 'dead', sent_at
    from made
    order by ord
    on conflict on constraint delivery_attempts_once do nothing
  )
  update deliveries delivery
  set
    attempts = delivery.attempts + 1,
    (status, next_attempt_at) = (
      select made.status_after, made.next_attempt_at from made where made.delivery_id = delivery.id limit 1
    ),
    updated_at = now()
  where delivery.ctid = any (places);
end
$$;
