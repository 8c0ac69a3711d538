import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
export type Event = { raw: Buffer; headers: IncomingHttpHeaders; json: any; answeredWith: number }

/** A service that takes the provider's events: stores them, and answers as the test says. */
export type Receiver = {
  url: string
  events: Event[]
  answerWith: number
  until(count: number): Promise<void>
  stop(): void
}

export async function startReceiver(): Promise<Receiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const raw = Buffer.concat(chunks)
      const answeredWith = receiver.answerWith
      receiver.events.push({ raw, headers: request.headers, json: parse(raw), answeredWith })
      response.writeHead(answeredWith).end('{"success":true}')
      server.emit('kept')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const receiver: Receiver = {
    url: `http://127.0.0.1:${address.port}/public/v1/webhooks/whatsapp`,
    events: [],
    answerWith: 200,
    until: async (count) => {
      while (receiver.events.length < count) await once(server, 'kept')
    },
    stop: () => {
      server.close()
      server.closeAllConnections()
    },
  }
  return receiver
}

function parse(raw: Buffer): unknown {
  try {
    return JSON.parse(raw.toString())
  } catch {
    return undefined
  }
}
