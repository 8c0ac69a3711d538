import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../random.ts'
import { ask } from './client.ts'

const PROBE_MS = 5

/**
 * The control arm: answers 200 before it forwards a body, once, to the service. The losses must be counted. It forwards from the
 * moment on at which a process is away: the first bodies would else be stored before the kill, on some machines all of them.
 */
export async function startEarlyAnswers(addresses: string[], random: Random) {
  const stopped = new AbortController()
  const isAway = untilAway(addresses, stopped.signal)
  const server = createServer(async (request, response) => {
    const body = await text(request).catch(() => '')
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    await isAway
    await ask(addresses, random, request.url ?? '/', body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    stop: () => {
      stopped.abort()
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Resolves when the first of the processes takes no connection. */
async function untilAway([address = '']: readonly string[], signal: AbortSignal): Promise<void> {
  try {
    for (;;) {
      await fetch(`${address}/healthz`, { signal })
      await sleep(PROBE_MS, undefined, { signal })
    }
  } catch {
    // It was killed, or the run is over.
  }
}
