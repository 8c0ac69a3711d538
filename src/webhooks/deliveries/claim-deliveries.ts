import { type Db, type Fragment, sql } from '../../db/connect.ts'
import { IS_IN_FLIGHT, runClaim } from '../../queue/claim/run-claim.ts'
import type { Claimed, ClaimRoom } from '../../queue/job.ts'
import { isWaiting as isWaitingIn, type PartitionRange } from '../../queue/job-table.ts'
import { openDays } from './delivery-days.ts'
import { DELIVER, DELIVERIES } from './delivery-store.ts'

/** Bounds over all processes. */
type DeliveryBounds = {
  /** Each of these lanes (some hundred at most) can have `batches` of `batch` deliveries in flight. */
  wide: { lanes: ReadonlySet<string>; batch: number; batches: number }
  /** Every other lane can have `ofLane` in flight, and all of them `all`, shared among companies, then lanes: at least one each. */
  narrow: { batch: number; ofLane: number; all: number }
  /** Deliveries that this claim may take from some narrow lanes. */
  laneRooms: ReadonlyMap<string, number>
}

export type DeliveryClaim = ClaimRoom & DeliveryBounds & { days?: PartitionRange }

/** Leases due deliveries within the bounds. Skips those of removed companies; renewJobs handles the ones in flight. */
export async function claimDeliveries(db: Db, claim: DeliveryClaim): Promise<Claimed> {
  const isWithin = DELIVERIES.isWithin(claim.days ?? (await openDays(db)))
  const isWaiting = sql`${isWaitingIn(DELIVERIES)} and ${isWithin}`
  return await runClaim(db, claim, {
    kind: DELIVER,
    fullBatch: claim.narrow.batch,
    table: DELIVERIES,
    isWaiting,
    inFlight: countInFlight(isWithin),
    laneBounds: boundsOf(claim, isWaiting),
    dueJobs: (limit) => sql`
      select ranked.rank, ranked.id, ranked.due_at
      from ((${dueOf(IS_RETRY, isWaiting, limit)}) union all (${dueOf(IS_FIRST, isWaiting, limit)})) as ranked
      order by ranked.rank, ranked.due_at, ranked.id
      limit ${limit}
    `,
    isWithinCap: sql`true`,
    leased: leaseDeliveries(claim, isWithin),
  })
}

const [IS_RETRY, IS_FIRST] = DELIVERIES.ranks

const countInFlight = (isWithin: Fragment): Fragment => sql`
  in_flight as materialized (
    select
      jsonb_object_agg(counted.lane, counted.batches) filter (where counted.lane is not null) as lanes,
      jsonb_object_agg(counted.lane, counted.jobs) filter (where counted.lane is not null) as jobs,
      jsonb_object_agg(counted.company_id, counted.lanes) filter (where counted.lane is null) as lanes_of_company,
      greatest(count(*) filter (where counted.lane is null), 1) as company_count
    from (
      select
        job.lane, job.company_id,
        count(*) as jobs, count(distinct job.lane) as lanes, count(distinct job.claim_id) as batches
      from deliveries job
      where ${isWithin} and ${IS_IN_FLIGHT}
      group by grouping sets ((job.lane), (job.company_id))
    ) as counted
  )`

/** Full narrow lanes are left to the next poll: a wake-up for each delivery that ends would cost a claim. */
const boundsOf = ({ wide, narrow, laneRooms }: DeliveryBounds, isWaiting: Fragment): Fragment => sql`
  select
    least((${headOf(IS_RETRY, isWaiting)}), (${headOf(IS_FIRST, isWaiting)})) as due_at,
    case when lane.is_wide then ${wide.batch}::integer else ${narrow.batch}::integer end as size,
    lane.is_wide as counts_as_full,
    case when lane.is_wide
      then (${wide.batches}::integer - coalesce((in_flight.lanes ->> next.lane)::integer, 0)) * ${wide.batch}::integer
      else least(
        greatest(
          least(
            ${narrow.ofLane}::integer,
            ${narrow.all}::integer / in_flight.company_count
              / greatest(coalesce((in_flight.lanes_of_company ->> next.company_id::text)::integer, 1), 1)
          ),
          1
        ) - coalesce((in_flight.jobs ->> next.lane)::integer, 0),
        (${JSON.stringify(Object.fromEntries(laneRooms))}::jsonb ->> next.lane)::integer
      )
    end as room
  from in_flight
  cross join lateral (select next.lane = any (${[...wide.lanes]}::text[]) as is_wide) as lane`

const headOf = (rank: Fragment, isWaiting: Fragment): Fragment => sql`
  select job.due_at
  from deliveries job
  where job.lane = next.lane and ${rank} and ${isWaiting}
  order by job.due_at, job.id
  limit 1`

const dueOf = (rank: Fragment, isWaiting: Fragment, limit: Fragment): Fragment => sql`
  select -least(job.attempts, 1) as rank, job.id, job.due_at
  from deliveries job
  where job.lane = walk.lane and ${rank} and ${isWaiting} and job.due_at <= (select at from moment)
  order by job.due_at, job.id
  limit ${limit}`

/** Companies can share a delivery id, in different lanes. */
const leaseDeliveries = ({ leaseMs }: ClaimRoom, isWithin: Fragment): Fragment => sql`
  locked as materialized (
    select job.id, job.lane, picked.claim_id, picked.is_removed
    from picked
    cross join lateral unnest(picked.ids) as one (id)
    cross join lateral (
      select job.id, job.lane
      from deliveries job
      -- not the predicate of the waiting index, which would be scanned by id from end to end
      where job.id = one.id and job.lane = picked.lane and ${isWithin} and num_nulls(job.claim_id) = 1 and ${DELIVERIES.isOpen}
      for update of job skip locked
    ) as job
  ),
  removed as (
    ${DELIVERIES.finish}
    where job.id = any (array(select locked.id from locked where locked.is_removed)) and ${isWithin}
      and job.lane = any (array(select locked.lane from locked where locked.is_removed))
  ),
  claim as materialized (
    select array_agg(locked.lane || ' ' || locked.id) as keys, array_agg(locked.claim_id) as claim_ids
    from locked
    where not locked.is_removed
  ),
  leased as (
    update deliveries job
    set
      claim_id = (select claim.claim_ids[array_position(claim.keys, job.lane || ' ' || job.id)] from claim),
      lease_until = (select at from moment) + ${leaseMs}::integer * interval '1 ms'
    where job.id = any (array(select locked.id from locked where not locked.is_removed)) and ${isWithin}
      and job.lane || ' ' || job.id = any ((select claim.keys from claim)::text[])
    returning
      job.id, job.lane, job.company_id, job.id as subject_id, job.due_at, job.faults as attempts, job.claim_id,
      job.created_at
  )`
