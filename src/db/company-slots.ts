import { monotonicMs } from '../clock.ts'
import { overloaded } from '../errors.ts'

export type SlotLimits = {
  /** Requests that work at the same time at most, of all companies. */
  slots: number
  /** Requests that wait at most; a third of them one company's. */
  maxWaiting: number
  /** The longest time that work waits for a slot. Work that waits longer is refused and never runs. */
  maxWaitMs: number
  /** The same for heavy work, whose callers wait longer. */
  maxHeavyWaitMs: number
}

/** A piece of work that asks for a slot. */
export type SlotRequest = {
  companyId: number
  /** Work that keeps a core of the database busy: always held to the company's share. */
  isHeavy: boolean
  /** Whether the caller is still connected when the slot is free. */
  isWanted: () => boolean
}

export type CompanySlots = {
  /**
   * Runs work when a slot is free for its company. The slot is held until the work ends, even if the caller stops waiting.
   * @throws {AppError} 503 `service_unavailable` with `Retry-After`, when too many requests wait, or this one waited too long
   */
  run<T>(request: SlotRequest, work: () => Promise<T>): Promise<T>
}

type Waiting = { request: SlotRequest; sinceMs: number; start: () => void; refuse: (error: unknown) => void }
type Company = { running: number; waiting: Waiting[] }

/** The part of all slots, and of all places to wait, that one company has at most. */
const COMPANY_SHARE = 1 / 3
const RETRY_AFTER_SECONDS = 1

/** A company is alone when no other company has asked for a slot for this long. */
const ALONE_AFTER_MS = 5_000

/**
 * Shares slots among companies. A company has at most a third of the slots; while it is alone it may have more, as long
 * as a third stays free for the company that comes next. Companies that wait are served round robin.
 */
export function createCompanySlots({ slots, maxWaiting, maxWaitMs, maxHeavyWaitMs }: SlotLimits): CompanySlots {
  const share = Math.max(1, Math.floor(slots * COMPANY_SHARE))
  const companies = new Map<number, Company>()
  /** Companies with requests that wait, in the order in which they are served. */
  const queue = new Set<number>()
  let running = 0
  let waiting = 0
  let isExpiring = false
  /** The last two companies that asked for a slot, and when. */
  let latest = { companyId: 0, atMs: Number.NEGATIVE_INFINITY }
  let earlier = latest

  const mayRun = (companyId: number, company: Company, isHeavy: boolean): boolean => {
    if (running >= slots) return false
    if (company.running < share) return true
    return !isHeavy && slots - running > share && isAlone(companyId)
  }

  const isAlone = (companyId: number): boolean => {
    const other = latest.companyId === companyId ? earlier : latest
    return monotonicMs() - other.atMs > ALONE_AFTER_MS
  }

  const noteActive = (companyId: number): void => {
    if (latest.companyId !== companyId) earlier = latest
    latest = { companyId, atMs: monotonicMs() }
  }

  const forgetIfIdle = (companyId: number, company: Company): void => {
    if (company.running === 0 && company.waiting.length === 0) companies.delete(companyId)
  }

  const execute = async <T>(companyId: number, company: Company, work: () => Promise<T>): Promise<T> => {
    running += 1
    company.running += 1
    try {
      return await work()
    } finally {
      running -= 1
      company.running -= 1
      startNext()
      forgetIfIdle(companyId, company)
    }
  }

  const remove = (companyId: number, company: Company): Waiting | undefined => {
    const first = company.waiting.shift()
    if (first !== undefined) waiting -= 1
    queue.delete(companyId)
    if (company.waiting.length > 0) queue.add(companyId)
    return first
  }

  const startNext = (): void => {
    for (const companyId of [...queue]) {
      if (running >= slots) return
      const company = companies.get(companyId)
      const first = company?.waiting[0]
      if (company === undefined || first === undefined || !mayRun(companyId, company, first.request.isHeavy)) continue
      remove(companyId, company)
      if (first.request.isWanted()) first.start()
      else first.refuse(overloaded(RETRY_AFTER_SECONDS))
      forgetIfIdle(companyId, company)
    }
  }

  const expire = (): void => {
    isExpiring = false
    const nowMs = monotonicMs()
    const isLate = ({ request, sinceMs }: Waiting) => nowMs - sinceMs >= (request.isHeavy ? maxHeavyWaitMs : maxWaitMs)
    for (const companyId of [...queue]) {
      const company = companies.get(companyId)
      if (company === undefined) continue
      const late = company.waiting.filter(isLate)
      company.waiting = company.waiting.filter((one) => !late.includes(one))
      waiting -= late.length
      if (company.waiting.length === 0) queue.delete(companyId)
      for (const { refuse } of late) refuse(overloaded(RETRY_AFTER_SECONDS))
      forgetIfIdle(companyId, company)
    }
    if (waiting > 0) expireLater()
  }

  const expireLater = (): void => {
    if (isExpiring) return
    isExpiring = true
    setTimeout(expire, maxWaitMs / 4)
  }

  return {
    run: <T>(request: SlotRequest, work: () => Promise<T>): Promise<T> => {
      const { companyId } = request
      const company = companies.get(companyId) ?? { running: 0, waiting: [] }
      companies.set(companyId, company)
      noteActive(companyId)
      if (company.waiting.length === 0 && mayRun(companyId, company, request.isHeavy)) {
        return execute(companyId, company, work)
      }
      if (waiting >= maxWaiting || company.waiting.length >= maxWaiting * COMPANY_SHARE) {
        forgetIfIdle(companyId, company)
        return Promise.reject(overloaded(RETRY_AFTER_SECONDS))
      }
      return new Promise<T>((resolve, reject) => {
        const start = () => void execute(companyId, company, work).then(resolve, reject)
        company.waiting.push({ request, sinceMs: monotonicMs(), start, refuse: reject })
        waiting += 1
        queue.add(companyId)
        expireLater()
      })
    },
  }
}
