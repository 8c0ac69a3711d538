import { monotonicMs } from '../platform/clock.ts'

const ALONE_AFTER_MS = 5_000

/** Remembers the last two companies, enough to know whether one is alone. */
export function createActivity() {
  let latest = { companyId: 0, atMs: Number.NEGATIVE_INFINITY }
  let earlier = latest
  return {
    note: (companyId: number): void => {
      if (latest.companyId !== companyId) earlier = latest
      latest = { companyId, atMs: monotonicMs() }
    },
    isAlone: (companyId: number): boolean => {
      const other = latest.companyId === companyId ? earlier : latest
      return monotonicMs() - other.atMs > ALONE_AFTER_MS
    },
  }
}
