import { monotonicMs } from '../../platform/clock.ts'
import type { SlotResult } from './receiver-slots.ts'

/** Attempts per second at failing receivers: per process, and per company while others fail too. */
const ATTEMPTS_PER_SECOND = 200
const MOST_OF_COMPANY = 100
/** Batches claims: one claim per attempt would cost more than the attempt. */
const MOST_SAVED = 50
const LEAST_CLAIMED = 10
const ACTIVE_MS = 5_000
const FAST_MS = 5_000
/** A fast failure adds 1, a success subtracts 2: failing means fewer than a third of the attempts succeed. */
const FAILING_HEAT = 10
const HIGHEST_HEAT = 20
const MOST_REMEMBERED = 10_000
const MOST_NAMED = 2_000

type Lane = { companyId: number; heat: number }
type Company = { failing: Set<string>; saved: number; savedAtMs: number; usedAtMs: number }

export type FailurePace = {
  /** May use up an attempt of the company. */
  mayStart(lane: string): boolean
  learn(lane: string, companyId: number, how: SlotResult): void
  /** Deliveries that a claim may take per failing lane. */
  rooms(): ReadonlyMap<string, number>
}

/** Paces fast-failing receivers: a refused connection takes only 1 ms, and one company could starve all others. */
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
