import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Waits for what other processes bring about. Throws after `timeoutMs`. */
export async function until(what: string, isSo: () => Promise<boolean>, timeoutMs = 120_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await isSo().catch(() => false))) {
    if (performance.now() > deadline) throw new Error(`Did not come about in ${timeoutMs} ms: ${what}`)
    await sleep(100)
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  await new Promise((done) => server.close(done))
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
