import { open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const INTERVAL_MS = 20
const BLOCK = Buffer.alloc(8 * 1024)
/** A disk that writes a block within this time stands still for nobody: an idle one takes 1 to 8 ms. */
const STALL_MS = 30

export type DiskProbe = {
  /** Milliseconds in which the disk stood still, since the call before. */
  stalledMs(): number
}

/** Writes one block of a file to its disk again and again, and adds up how long it took beyond the usual. */
export async function startDiskProbe(path: string): Promise<DiskProbe> {
  const file = await open(path, 'w')
  let stalled = 0
  const probe = async (): Promise<never> => {
    for (;;) {
      const startedAt = performance.now()
      await file.write(BLOCK, 0, BLOCK.length, 0)
      await file.datasync()
      const tookMs = performance.now() - startedAt
      if (tookMs > STALL_MS) stalled += tookMs
      await sleep(INTERVAL_MS)
    }
  }
  void probe()
  return {
    stalledMs() {
      const before = stalled
      stalled = 0
      return before
    },
  }
}
