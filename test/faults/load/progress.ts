import { setTimeout as sleep } from 'node:timers/promises'

/** Spreads work over the faults: no part of it is done much earlier than the same part of the faults. */
export type Progress = {
  done(): void
  over(): void
  /** Does a part of the work once it is its turn. */
  run<Result>(part: number, work: () => Promise<Result>): Promise<Result>
  /** Starts no more work, waits for what runs, acts, and goes on. */
  holding<Result>(act: () => Promise<Result>): Promise<Result>
}

const WAIT_MS = 50

export function createProgress(faults: number): Progress {
  let progress = 1 / (faults + 1)
  let isHeld = false
  let running = 0
  return {
    done: () => {
      progress += 1 / (faults + 1)
    },
    over: () => {
      progress = 1
    },
    run: async (part, work) => {
      while (part > progress || isHeld) await sleep(WAIT_MS)
      running += 1
      return await work().finally(() => {
        running -= 1
      })
    },
    holding: async (act) => {
      isHeld = true
      while (running > 0) await sleep(WAIT_MS)
      return await act().finally(() => {
        isHeld = false
      })
    },
  }
}
