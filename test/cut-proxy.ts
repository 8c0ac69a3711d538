import { once } from 'node:events'
import { createConnection, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** The fate of connections: `refused` as by a proxy whose server is away, `silent` as by a machine that is gone. */
type Mode = 'open' | 'refused' | 'silent'

/** How connections end: orderly (FIN) or with a reset (RST). */
export type Cut = 'fin' | 'rst'

/**
 * A way to the test server over TCP that can be cut at any moment. It ends with the test; concurrent tests pass their
 * own `whenDone`.
 */
export async function startCutProxy(
  databaseUrl: string,
  whenDone: (clean: () => Promise<void> | void) => void = onTestFinished,
) {
  const folder = new URL(databaseUrl).searchParams.get('host')
  const pairs = new Map<Socket, Socket>()
  /** Nothing that is said on these arrives any more. */
  const silenced = new WeakSet<Socket>()
  let mode: Mode = 'open'
  let bytesToPass = Number.POSITIVE_INFINITY
  let repliesToPass = Number.POSITIVE_INFINITY
  let roundTrips = 0

  const proxy = createServer({ allowHalfOpen: true }, (client) => {
    client.on('error', () => {})
    client.on('end', () => {
      if (!silenced.has(client)) client.end()
    })
    if (mode === 'refused') return void client.destroy()
    const server = createConnection(`${folder}/.s.PGSQL.5432`)
    server.on('error', () => {})
    pairs.set(client, server)
    client.on('close', () => {
      pairs.delete(client)
      server.destroy()
    })
    server.on('close', () => client.destroy())
    if (mode === 'silent') silenced.add(client)
    let isAnswered = true
    client.on('data', (chunk) => {
      if (isAnswered) roundTrips += 1
      isAnswered = false
      if (!silenced.has(client)) server.write(chunk)
    })
    server.on('data', (chunk) => {
      isAnswered = true
      if (silenced.has(client)) return
      bytesToPass -= chunk.length
      repliesToPass -= 1
      if (repliesToPass === 0) cut('rst')
      else if (bytesToPass < 0) end(client, 'rst')
      else client.write(chunk)
    })
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const address = proxy.address()
  if (address === null || typeof address === 'string') throw new Error('no port')

  const cut = (how: Cut) => {
    for (const client of pairs.keys()) end(client, how)
  }
  whenDone(() => {
    cut('rst')
    proxy.close()
  })
  const { pathname } = new URL(databaseUrl)
  const host = `127.0.0.1:${address.port}`
  return {
    host,
    url: `postgres://parley@${host}${pathname}`,
    cut,
    /** For the connections to come; those that are there when it falls silent stay so. */
    become: (next: Mode) => {
      mode = next
      if (mode === 'silent') for (const client of pairs.keys()) silenced.add(client)
    },
    /** Resets all connections when the server answers for the n-th time from now; that answer is lost. */
    cutAtReply: (n: number) => {
      repliesToPass = n
    },
    openCount: () => pairs.size,
    /** How often a client says something after the server has answered, on all connections, during the work. */
    roundTripsOf: async (work: () => Promise<unknown>): Promise<number> => {
      const before = roundTrips
      await work()
      return roundTrips - before
    },
    /** Whether that answer has come. */
    hasCut: () => repliesToPass <= 0,
    /** Resets each connection once the server has said so much. */
    cutAfter: (bytes: number) => {
      bytesToPass = bytes
    },
  }
}

function end(client: Socket, how: Cut): void {
  if (how === 'rst') client.resetAndDestroy()
  else client.destroy()
}
