import { setTimeout as sleep } from 'node:timers/promises'

/** Spreads work over the faults: no part of it is done much earlier than the same part of the faults. */
export type Progress = { done(): void; over(): void; wait(part: number): Promise<void> }

const WAIT_MS = 50

export function createProgress(faults: number): Progress {
  let progress = 1 / (faults + 1)
  return {
    done: () => {
      progress += 1 / (faults + 1)
    },
    over: () => {
      progress = 1
    },
    wait: async (part) => {
      while (part > progress) await sleep(WAIT_MS)
    },
  }
}
