import { randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'

/** Makes the provider's ids; none repeats, not even after a restart, since services keep them for years. */
export type IdMaker = { wamid(): string; trace(): string; number(): string }

/** Ids that are unique over restarts of the sandbox. */
export function createIdMaker(clock: Clock): IdMaker {
  const run = randomBytes(9).toString('hex').toUpperCase()
  let count = 0
  let last = 0
  const next = () => {
    count += 1
    return count.toString(36).toUpperCase().padStart(8, '0')
  }
  return {
    wamid: () => `wamid.HBg${run}${next()}`,
    trace: () => `A${run.slice(0, 6)}${next()}`,
    /** Fifteen digits: small enough to travel as a JSON number, as template ids do in events. */
    number: () => {
      last = Math.max(last + 1, clock.now().getTime() * 100)
      return String(last)
    },
  }
}
