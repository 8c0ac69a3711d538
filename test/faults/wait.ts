import { setTimeout as sleep } from 'node:timers/promises'

/** Waits for what other processes bring about. Throws after `timeoutMs`. */
export async function until(what: string, isSo: () => Promise<boolean>, timeoutMs = 120_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await isSo().catch(() => false))) {
    if (performance.now() > deadline) throw new Error(`Did not come about in ${timeoutMs} ms: ${what}`)
    await sleep(100)
  }
}
