import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Random } from '../random.ts'
import { ask } from './client.ts'

/** The control arm: answers 200 before it forwards a body, once, to the service. The losses must be counted. */
export async function startEarlyAnswers(addresses: string[], random: Random) {
  const server = createServer(async (request, response) => {
    const body = await text(request).catch(() => '')
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    await ask(addresses, random, request.url ?? '/', body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
