import { monotonicMs } from '../../platform/clock.ts'
import type { SlotResult } from './receiver-slots.ts'

/** Attempts a second at receivers that fail, for each process: of all companies, and of one while others fail, too, its share. */
const ATTEMPTS_PER_SECOND = 200
const MOST_OF_COMPANY = 100
/** Attempts that a company may have saved up, and so many are claimed together: a claim for each would cost more than the attempt. */
const MOST_SAVED = 50
const LEAST_CLAIMED = 10
/** A company shares in the attempts for so long after its last one. */
const ACTIVE_MS = 5_000
/** A failure after this time is slow: attempts in flight bound those. */
const FAST_MS = 5_000
/** Each fast failure adds 1, each success takes 2: a receiver fails from this heat on, where fewer than a third succeed. */
const FAILING_HEAT = 10
const HIGHEST_HEAT = 20
/** Receivers that are remembered, about 200 bytes each, and that are named to a claim. */
const MOST_REMEMBERED = 10_000
const MOST_NAMED = 2_000

type Lane = { companyId: number; heat: number }
type Company = { failing: Set<string>; saved: number; savedAtMs: number; usedAtMs: number }

export type FailurePace = {
  /** Whether an attempt at a receiver may start now. One at a receiver that fails uses up an attempt of its company. */
  mayStart(lane: string): boolean
  /** Takes note of how an attempt ended. */
  learn(lane: string, companyId: number, how: SlotResult): void
  /** How many deliveries a claim may take of each lane whose receiver fails. */
  rooms(): ReadonlyMap<string, number>
}

/**
 * Paces attempts at fast-failing receivers, so that one company's deliveries cannot starve the others: a refused connection takes
 * only a millisecond. A company's receivers take turns. A receiver that succeeds again is no longer paced.
 */
export function createFailurePace(now: () => number = monotonicMs): FailurePace {
  const lanes = new Map<string, Lane>()
  const companies = new Map<number, Company>()

  const cool = (name: string, { companyId }: Lane): void => {
    const company = companies.get(companyId)
    company?.failing.delete(name)
    if (company?.failing.size === 0) companies.delete(companyId)
  }
  const heat = (name: string, companyId: number): void => {
    const fresh = { failing: new Set<string>(), saved: MOST_SAVED, savedAtMs: now(), usedAtMs: now() }
    const company = companies.get(companyId) ?? fresh
    companies.set(companyId, company)
    company.failing.add(name)
  }
  const isActive = ({ usedAtMs }: Company) => now() - usedAtMs < ACTIVE_MS
  const perSecond = (): number => {
    const active = [...companies.values()].filter(isActive).length
    return Math.min(MOST_OF_COMPANY, ATTEMPTS_PER_SECOND / Math.max(active, 1))
  }
  const save = (company: Company, rate: number): void => {
    const seconds = (now() - company.savedAtMs) / 1_000
    company.saved = Math.min(company.saved + seconds * rate, MOST_SAVED)
    company.savedAtMs = now()
  }

  return {
    mayStart: (name) => {
      const lane = lanes.get(name)
      const company = lane && lane.heat >= FAILING_HEAT ? companies.get(lane.companyId) : undefined
      if (company === undefined) return true
      if (company.saved < 1) return false
      company.saved -= 1
      company.usedAtMs = now()
      return true
    },
    learn: (name, companyId, { succeeded, durationMs }) => {
      if (!succeeded && durationMs >= FAST_MS) return
      const lane = lanes.get(name) ?? { companyId, heat: 0 }
      lane.heat = succeeded ? Math.max(lane.heat - 2, 0) : Math.min(lane.heat + 1, HIGHEST_HEAT)
      lanes.delete(name)
      if (lane.heat > 0) lanes.set(name, lane)
      if (lane.heat >= FAILING_HEAT) heat(name, companyId)
      else cool(name, lane)
      const [eldest] = lanes
      if (eldest === undefined || lanes.size <= MOST_REMEMBERED) return
      lanes.delete(eldest[0])
      cool(...eldest)
    },
    rooms: () => {
      const rate = perSecond()
      const rooms = new Map<string, number>()
      for (const company of companies.values()) {
        save(company, rate)
        for (const [name, room] of share(company)) if (rooms.size < MOST_NAMED) rooms.set(name, room)
      }
      return rooms
    },
  }
}

/** Divides what a company has saved among its receivers; those that get one more are the last in the next turn. */
function share({ failing, saved }: Company): [string, number][] {
  const ready = saved < LEAST_CLAIMED ? 0 : Math.floor(saved)
  const each = Math.floor(ready / failing.size)
  const rest = ready % failing.size
  const rooms = [...failing].map((name, place): [string, number] => [name, place < rest ? each + 1 : each])
  for (const [name] of rooms.slice(0, rest)) {
    failing.delete(name)
    failing.add(name)
  }
  return rooms
}
