import { isLeased, type JobTable, NO_WORKER, perTable } from '../job-table.ts'

/**
 * Companies may share a job id, but a claim has one company. Arrays instead of JSON:
 * docs/decisions/0008-rows-as-json.md.
 */
const isHeld = (table: JobTable): string => `
  job.id = any ($1::bigint[]) and ${isWithin(table)}
  and job.claim_id = any (array(select ($2::uuid[])[place] from unnest(array_positions($1::bigint[], job.id)) as place))
`

const isWithin = (table: JobTable): string => table.isWithin('$3::integer', '$4::integer')

export const completeStatement = perTable((table) => `${table.finish} where ${isHeld(table)} returning job.id`)

export const returnStatement = perTable(
  (table) => `update ${table.name} job set claim_id = null, lease_until = null where ${isHeld(table)}`,
)

/**
 * $1: JSON rows with job, claim, next due time (or ms from now), and whether the run counts as a failure, holds the
 * lane, or fails the job; $2, $3: first and last partition. Returns jobs still held.
 */
export const rescheduleStatement = perTable(
  (table) => `
    with input as materialized (
      select *
      from jsonb_to_recordset($1::jsonb) as input (
        id bigint, claim_id uuid, due_at timestamptz, wait_ms double precision, counts boolean, error text, hold boolean,
        fail boolean
      )
    )
    update ${table.name} job
    set (due_at, claim_id, lease_until, ${table.failures}, lease_expiries, failed_at, last_error) = (
      select
        case when later.is_held then job.due_at else later.due_at end,
        case when later.is_held then '${NO_WORKER}'::uuid end,
        case when later.is_held then later.due_at end,
        job.${table.failures} + later.counts::integer,
        0,
        case when later.fail then clock_timestamp() end,
        coalesce(later.error, job.last_error)
      from (
        select
          coalesce(input.due_at, clock_timestamp() + coalesce(input.wait_ms, 0) * interval '1 ms') as due_at,
          input.counts, input.error, input.fail, input.hold and not input.fail as is_held
        from input
        where (input.id, input.claim_id) = (job.id, job.claim_id)
        limit 1
      ) as later
    )
    -- The list of ids bounds what a plan reads that was built while the table was empty.
    where job.id = any (array(select input.id from input)) and ${table.isWithin('$2::integer', '$3::integer')}
      and exists (select from input where (input.id, input.claim_id) = (job.id, job.claim_id))
    returning job.id
  `,
)

/** Renews for $5 ms; returns lost claims, but no job just being completed. claimJobs ends jobs for removed companies. */
export const renewStatement = perTable(
  (table) => `
    with mine as materialized (
      select job.id, job.claim_id from ${table.name} job where ${isHeld(table)} for update of job skip locked
    ),
    renewed as (
      update ${table.name} job
      set lease_until = clock_timestamp() + $5::integer * interval '1 ms'
      where job.id = any (array(select mine.id from mine)) and ${isWithin(table)}
        and job.claim_id = any (array(select mine.claim_id from mine))
        -- a renewal that a crash of the server forgets is a job that is claimed again
        and (select set_config('synchronous_commit', 'off', true)) = 'off'
    )
    select one.claim_id
    from unnest($1::bigint[], $2::uuid[]) as one (id, claim_id)
    cross join lateral (
      select job.id, job.claim_id, job.company_id
      from ${table.name} job
      where job.id = one.id and ${table.isOpen}
      order by job.claim_id is not distinct from one.claim_id desc -- another company may know the id
      limit 1
    ) as held
    where held.claim_id is distinct from one.claim_id
      or exists (select from companies company where company.id = held.company_id and company.deleted_at is not null)
  `,
)

/** Kinds $1. A job that outlived $2 workers fails: it may be what kills them. $3, $4: first and last partition. */
export const recoverStatement = perTable(
  (table) => `
    with expired as materialized (
      select job.id, job.claim_id
      from unnest($1::text[]) as one (kind)
      cross join lateral (
        select job.id, job.claim_id
        from ${table.name} job
        where ${table.isOfKind('one.kind')} and ${isLeased('<=', 'now()')} and ${isWithin(table)}
        for update of job skip locked
      ) as job
    )
    update ${table.name} job
    set (claim_id, lease_until, lease_expiries, failed_at, last_error) = (
      select
        null::uuid,
        null::timestamptz,
        expiries,
        case when expiries >= $2::integer then clock_timestamp() end,
        case when expiries >= $2::integer then 'The lease expired ' || expiries || ' times' else job.last_error end
      from (select job.lease_expiries + (job.claim_id <> '${NO_WORKER}')::integer as expiries) as counted
    )
    where job.id = any (array(select expired.id from expired)) and ${isWithin(table)}
      and job.claim_id = any (array(select expired.claim_id from expired)) and job.lease_until <= now()
  `,
)

/** $1: a kind, or null for all; $2: limit. */
export const failedStatement = perTable(
  (table) => `
    select
      job.id, ${table.kind} as kind, job.lane, job.company_id, ${table.subject} as subject_id, job.${table.failures} as attempts, job.failed_at,
      job.last_error
    from ${table.name} job
    where job.failed_at is not null and ($1::text is null or ${table.isOfKind('$1::text')})
    order by job.failed_at desc, job.id desc
    limit $2::integer
  `,
)

export const reviveStatement = perTable(
  (table) => `
    update ${table.name} job
    set failed_at = null, ${table.failures} = 0, lease_expiries = 0, due_at = now()
    where job.id = $2 and job.company_id is not distinct from $1 and job.failed_at is not null
  `,
)

export const failedCompaniesStatement = perTable(
  (table) => `
    select job.company_id from ${table.name} job where job.id = $1 and job.failed_at is not null order by job.company_id
  `,
)
