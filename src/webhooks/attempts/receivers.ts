import { monotonicMs } from '../../platform/clock.ts'

/** Concurrent attempts per registration and process. */
export const MOST_AT_ONCE = 64
/** Bytes of bodies in flight per registration and process; beyond it no attempt starts. */
const MOST_BYTES = 8 * 1024 * 1024
const QUICK_MS = 1_000
/** Score of a quick receiver. A quick success adds 1, a slow one subtracts 1, a failure halves. */
const QUICK_SCORE = 20
const HIGHEST_SCORE = 64
/** Quick receivers passed to each claim statement. */
const MOST_QUICK = 500
/** Idle or failing receivers to remember, about 200 bytes each. */
const MOST_REMEMBERED = 10_000

export type SlotResult = { succeeded: boolean; durationMs: number }

export type Slot = {
  /** Adds the attempt's body size. */
  hold(bytes: number): void
  /** Releases the slot; undefined if the outcome doesn't depend on the receiver. */
  end(how: SlotResult | undefined): void
}

export type ReceiverSlots = {
  /** Waits for a slot. Undefined: release the delivery, since its receiver is no longer quick or the process is stopping. */
  take(receiver: string): Promise<Slot | undefined>
  /** Returns up to 500 receivers with a quick history, most recently used last. */
  quick(): ReadonlySet<string>
  /** Resolves all current and later waits with undefined. */
  close(): void
}

type Receiver = {
  inFlight: number
  bytes: number
  score: number
  waiting: ((slot: Slot | undefined) => void)[]
}

/**
 * Limits attempts in flight per receiver and tracks quick receivers, for which more deliveries are claimed than can be in flight.
 * When a receiver fails, waiting deliveries are released: its retries come first in a claim and must not wait behind them.
 */
export function createReceiverSlots(): ReceiverSlots {
  const receivers = new Map<string, Receiver>()
  const quick = new Set<string>()
  let isClosed = false

  const begin = (id: string, receiver: Receiver): Slot => {
    let held = 0
    receiver.inFlight += 1
    return {
      hold: (bytes) => {
        held += bytes
        receiver.bytes += bytes
      },
      end: (how) => {
        receiver.inFlight -= 1
        receiver.bytes -= held
        if (how !== undefined) learn(receiver, how)
        remember(quick, id, receiver.score >= QUICK_SCORE)
        while (receiver.waiting.length > 0 && mayStart(receiver)) receiver.waiting.shift()?.(begin(id, receiver))
        if (receiver.inFlight === 0 && (receiver.score === 0 || receivers.size > MOST_REMEMBERED)) forget(id)
      },
    }
  }

  const forget = (id: string): void => {
    receivers.delete(id)
    quick.delete(id)
  }

  const find = (id: string): Receiver => {
    const receiver = receivers.get(id) ?? { inFlight: 0, bytes: 0, score: 0, waiting: [] }
    receivers.set(id, receiver)
    return receiver
  }

  return {
    take: async (id) => {
      if (isClosed) return undefined
      const receiver = find(id)
      if (mayStart(receiver)) return begin(id, receiver)
      return await new Promise((resolve) => receiver.waiting.push(resolve))
    },
    quick: () => quick,
    close: () => {
      isClosed = true
      for (const receiver of receivers.values()) release(receiver)
    },
  }
}

const mayStart = ({ inFlight, bytes }: Receiver): boolean => inFlight < MOST_AT_ONCE && bytes < MOST_BYTES

function remember(quick: Set<string>, id: string, isQuick: boolean): void {
  quick.delete(id)
  if (!isQuick) return
  quick.add(id)
  const [eldest] = quick
  if (eldest !== undefined && quick.size > MOST_QUICK) quick.delete(eldest)
}

function release({ waiting }: Receiver): void {
  for (const resolve of waiting.splice(0)) resolve(undefined)
}

function learn(receiver: Receiver, { succeeded, durationMs }: SlotResult): void {
  const wasQuick = receiver.score >= QUICK_SCORE
  if (!succeeded) receiver.score = Math.floor(receiver.score / 2)
  else if (durationMs < QUICK_MS) receiver.score = Math.min(receiver.score + 1, HIGHEST_SCORE)
  else receiver.score = Math.max(receiver.score - 1, 0)
  if (wasQuick && receiver.score < QUICK_SCORE) release(receiver)
}

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
