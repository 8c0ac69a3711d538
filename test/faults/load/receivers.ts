import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Delivered } from '../evidence.ts'
import type { Random } from '../random.ts'

/** Of answers: that many are refusals, that many break off, and that many never come. */
const REFUSED = 0.02
const BROKEN = 0.01
const HANGING = 0.003

export type Receivers = Awaited<ReturnType<typeof startReceivers>>

/** A server that plays all receivers: the path names the registration. Keeps what it answered with 200. */
export async function startReceivers(random: Random) {
  const delivered: Delivered[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request).catch(() => '')
    const chance = random.next()
    if (chance < BROKEN) return void request.socket.destroy()
    if (chance < BROKEN + REFUSED) return void response.writeHead(500).end()
    if (chance < BROKEN + REFUSED + HANGING) return
    // characters that a header cannot hold are percent-encoded
    const wamid = decodeURIComponent(String(request.headers['x-service-delivery'] ?? ''))
    delivered.push({ registrationId: (request.url ?? '').slice(1), wamid, body })
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    delivered,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
