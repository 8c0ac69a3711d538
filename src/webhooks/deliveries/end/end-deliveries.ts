import { Gauge, type Registry } from 'prom-client'
import type { Db, Pool } from '../../../db/connect.ts'
import type { Clock } from '../../../platform/clock.ts'
import { expiredMessage } from '../../attempts/schedule.ts'
import {
  countPaused,
  listQuiet,
  type PauseFacts,
  pauseRegistration,
  storeLastAttempts,
} from '../../registrations/registration-health-store.ts'
import { releaseHeldBack } from '../delivery-order-store.ts'
import type { DeliveryRef } from '../delivery-store.ts'
import { expireDeliveries } from './delivery-end-store.ts'

/** Up to 100,000 deliveries per run, every 30 s. */
const BATCH = 1_000
const MOST_BATCHES = 100

/** Pauses a registration after 5 days without success and 100 dead letters. */
const QUIET_MS = 5 * 24 * 3_600_000
const DEAD_LETTERS = 100

export type EndDeps = {
  db: Pool
  clock: Clock
  deadlineHours: number
  onExpired(deliveries: readonly DeliveryRef[]): void
  onPaused(paused: Pick<PauseFacts, 'companyId' | 'id'>): void
}

/** Dead-letters expired deliveries and pauses registrations with a dead receiver (decisions: Deliveries). */
export async function endDeliveries(deps: EndDeps, signal: AbortSignal): Promise<void> {
  await storeLastAttempts(deps.db)
  await expire(deps, signal)
  await release(deps, signal)
  await pauseDead(deps)
}

async function expire({ db, deadlineHours, onExpired }: EndDeps, signal: AbortSignal): Promise<void> {
  const message = expiredMessage(deadlineHours)
  for (let batches = 0; batches < MOST_BATCHES && !signal.aborted; batches += 1) {
    const expired = await expireDeliveries(db, deadlineHours * 3_600_000, message, BATCH)
    if (expired.length > 0) onExpired(expired)
    if (expired.length < BATCH) return
  }
}

async function release({ db }: EndDeps, signal: AbortSignal): Promise<void> {
  for (let batches = 0; batches < MOST_BATCHES && !signal.aborted; batches += 1) {
    if ((await releaseHeldBack(db, BATCH)) < BATCH) return
  }
}

async function pauseDead({ db, clock, onPaused }: EndDeps): Promise<void> {
  const now = clock.now()
  for (const facts of await listQuiet(db, new Date(now.getTime() - QUIET_MS), DEAD_LETTERS)) {
    const { companyId, id, quietSince } = facts
    if (!shouldPause(facts, now)) continue
    if (await pauseRegistration(db, companyId, id, 'no_success', quietSince)) onPaused({ companyId, id })
  }
}

export const shouldPause = ({ quietSince, deadLetters }: Omit<PauseFacts, 'companyId' | 'id'>, now: Date): boolean =>
  now.getTime() - quietSince.getTime() >= QUIET_MS && deadLetters >= DEAD_LETTERS

export function registerPausedGauge(registry: Registry, db: Db): void {
  new Gauge({
    name: 'parley_registrations_paused',
    help: 'Webhook registrations that are paused: inactive after days without a success, or without events for their backlog',
    registers: [registry],
    aggregator: 'max',
    async collect() {
      this.set(await countPaused(db))
    },
  })
}
