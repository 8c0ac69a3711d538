import { type Db, type Fragment, sql } from '../../db/connect.ts'
import type { Claimed, ClaimRoom } from '../job.ts'
import { isWaiting as isWaitingIn, JOBS, NO_WORKER } from '../job-table.ts'
import { IS_IN_FLIGHT, runClaim } from './run-claim.ts'

export type ClaimRequest = ClaimRoom & {
  kind: string
  batchSize: number
  /** Batches in flight, over all processes. */
  laneCap: number
  companyCap: number
}

/** Leases due jobs within the caps. Finishes those of removed companies; renewJobs handles the ones in flight. */
export function claimJobs(db: Db, request: ClaimRequest): Promise<Claimed> {
  const { kind, batchSize, laneCap, companyCap } = request
  const isWaiting = sql`job.kind = ${kind} and ${isWaitingIn(JOBS)}`
  return runClaim(db, request, {
    kind,
    fullBatch: batchSize,
    table: JOBS,
    isWaiting,
    inFlight: countInFlight(kind),
    laneBounds: sql`
      select
        next.due_at, ${batchSize}::integer as size, true as counts_as_full,
        case when ${inFlightOf(sql`next.company_id`)} < ${companyCap}::integer
          then (${laneCap}::integer - coalesce(((select lanes from in_flight) ->> next.lane)::integer, 0)) * ${batchSize}::integer
          else 0
        end as room
    `,
    dueJobs: (limit) => sql`
      select 0 as rank, job.id, job.due_at
      from jobs job
      where job.lane = walk.lane and ${isWaiting} and job.due_at <= (select at from moment)
      order by job.due_at, job.id
      limit ${limit}
    `,
    isWithinCap: sql`(
      batch.company_id is null
      or batch.company_round <= ${companyCap}::integer - ${inFlightOf(sql`batch.company_id`)}
    )`,
    leased: leaseJobs(request),
  })
}

const countInFlight = (kind: string): Fragment => sql`
  in_flight as materialized (
    select
      jsonb_object_agg(counted.lane, counted.batches) filter (where counted.lane is not null) as lanes,
      jsonb_object_agg(counted.company_id, counted.running) filter (where counted.company_id is not null) as companies
    from (
      select
        job.lane, job.company_id, count(distinct job.claim_id) as batches,
        count(distinct job.claim_id) filter (where job.claim_id <> ${NO_WORKER}::uuid) as running
      from jobs job
      where job.kind = ${kind} and ${IS_IN_FLIGHT}
      group by grouping sets ((job.lane), (job.company_id))
    ) as counted
  )`

const inFlightOf = (companyId: Fragment): Fragment => sql`
  coalesce(((select companies from in_flight) ->> ${companyId}::text)::integer, 0)`

const leaseJobs = ({ leaseMs }: ClaimRequest): Fragment => sql`
  locked as materialized (
    select job.id, picked.claim_id, picked.is_removed
    from picked
    cross join lateral (
      select job.id
      from jobs job
      -- not the predicate of the waiting index, which would be scanned by id from end to end
      where job.id = any (picked.ids) and num_nulls(job.claim_id) = 1 and job.failed_at is null
      for update of job skip locked
    ) as job
  ),
  removed as (
    delete from jobs job where job.id = any (array(select locked.id from locked where locked.is_removed))
  ),
  claim as materialized (
    select array_agg(locked.id) as ids, array_agg(locked.claim_id) as claim_ids from locked where not locked.is_removed
  ),
  leased as (
    update jobs job
    set
      claim_id = (select claim.claim_ids[array_position(claim.ids, job.id)] from claim),
      lease_until = (select at from moment) + ${leaseMs}::integer * interval '1 ms'
    where job.id = any (array(select locked.id from locked where not locked.is_removed))
    returning job.id, job.lane, job.company_id, job.subject_id, job.due_at, job.attempts, job.claim_id, job.created_at
  )`
