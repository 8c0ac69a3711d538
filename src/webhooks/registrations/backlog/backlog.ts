import { LRUCache } from 'lru-cache'
import type { Pool } from '../../../db/connect.ts'
import { maxEntries } from '../../../platform/cache/cache-bound.ts'
import {
  listBacklogs,
  listPausedCompanies,
  pauseForBacklog,
  type RegistrationBacklog,
  resumeAfterBacklog,
} from './backlog-store.ts'

/** A company whose backlog is within the bound is counted again after a quarter of the rest, so that four processes keep to it. */
const RECOUNTS = 4
/** At the bound, after a twentieth of it. */
const LEAST_ADDED = 20
/** A count comes so long after the addition that leads to it: most transactions have committed by then. */
const COUNT_AFTER_MS = 1_000
/** Companies whose additions are remembered. Of the others the next addition is counted at once. */
const MOST_REMEMBERED = 10_000

export type BacklogDeps = {
  db: Pool
  /** Waiting deliveries of events other than messages that a company may have. */
  most: number
  /** Called after registrations of a company got or lost their pause. */
  onPaused(companyId: number, registrationIds: readonly number[]): void
  onResumed(companyId: number): void
  onFailure(error: unknown): void
}

export type BacklogGuard = {
  /** Takes note of deliveries of events other than messages that a company gets. */
  added(companyId: number, deliveries: number): void
  /** Counts the backlog of a company now and pauses the registrations with most of it; waits for a count that runs. */
  check(companyId: number): Promise<void>
  /** Ends the pauses of companies whose backlog has halved. */
  resume(): Promise<void>
}

/**
 * Bounds the backlog of each company (decisions: What one caller may cost). Additions are counted in memory, and the table only
 * when they may have passed the bound: no event costs a statement.
 */
export function createBacklogGuard({ db, most, onPaused, onResumed, onFailure }: BacklogDeps): BacklogGuard {
  /** Additions until the next count. */
  const left = new LRUCache<number, { count: number }>(maxEntries(MOST_REMEMBERED))
  const running = new Map<number, Promise<void>>()
  const scheduled = new Set<number>()

  const count = async (companyId: number): Promise<void> => {
    const backlogs = await listBacklogs(db, companyId, most + 1)
    left.set(companyId, { count: Math.max((most - totalOf(backlogs)) / RECOUNTS, most / LEAST_ADDED) })
    const paused = await pauseForBacklog(db, companyId, toPause(backlogs, most))
    if (paused.length > 0) onPaused(companyId, paused)
  }
  const check = (companyId: number): Promise<void> => {
    const counting = running.get(companyId) ?? count(companyId).finally(() => running.delete(companyId))
    running.set(companyId, counting)
    return counting
  }

  return {
    added: (companyId, deliveries) => {
      const rest = left.get(companyId) ?? { count: 0 }
      rest.count -= deliveries
      left.set(companyId, rest)
      if (rest.count > 0 || deliveries === 0 || scheduled.has(companyId)) return
      scheduled.add(companyId)
      setTimeout(() => {
        scheduled.delete(companyId)
        check(companyId).catch(onFailure)
      }, COUNT_AFTER_MS).unref()
    },
    check,
    resume: async () => {
      for (const companyId of await listPausedCompanies(db)) {
        const backlogs = await listBacklogs(db, companyId, most + 1)
        if (totalOf(backlogs) <= most / 2 && (await resumeAfterBacklog(db, companyId)) > 0) onResumed(companyId)
      }
    },
  }
}

/** Beyond the bound, all registrations that have more than an equal part of it: there is always one. */
export function toPause(backlogs: readonly RegistrationBacklog[], most: number): number[] {
  if (totalOf(backlogs) <= most) return []
  return backlogs.filter(({ waiting, isPaused }) => !isPaused && waiting > most / backlogs.length).map(({ id }) => id)
}

const totalOf = (backlogs: readonly RegistrationBacklog[]): number =>
  backlogs.reduce((sum, { waiting }) => sum + waiting, 0)
