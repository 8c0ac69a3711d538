import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Company } from './company.ts'

/** The failures of calls on kept-alive connections: other answers than 200, and connections that broke. */
export type Calls = { answered: number; moved: number; failures: string[] }

type Load = { addresses: string[]; company: Company; clients: number }

/** The longest rest of a connection between two calls: below `STOP_DELAY_MS`, within which a stopping process answers. */
const LONGEST_REST_MS = 500

/**
 * Clients with one kept-alive connection each, as a proxy has: when a connection is refused, the call goes to the next address;
 * nothing else is repeated. Every second call is a POST. Every second client calls without pause; the connections of the others
 * rest between calls.
 */
export function startCalls({ addresses, company, clients }: Load) {
  const calls: Calls = { answered: 0, moved: 0, failures: [] }
  let isOver = false
  const callInTurn = async (client: number) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    let place = client
    for (let number = 0; !isOver; number += 1) {
      const result = await call(agent, addresses[place % addresses.length] ?? '', company.token, number % 2 === 0)
      if (result === 200) calls.answered += 1
      else if (result === 'ECONNREFUSED') {
        calls.moved += 1
        place += 1
      } else calls.failures.push(`${new Date().toISOString()} ${result}`)
      if (client % 2 === 1) await sleep(Math.random() * LONGEST_REST_MS)
    }
    agent.destroy()
  }
  const running = Promise.all(Array.from({ length: clients }, (_, client) => callInTurn(client)))
  return {
    answered: () => calls.answered,
    stop: async (): Promise<Calls> => {
      isOver = true
      await running
      return calls
    },
  }
}

function call(agent: Agent, address: string, token: string, isRead: boolean): Promise<number | string> {
  const body = isRead ? '' : JSON.stringify({ email: 'ada@example.com' })
  const url = new URL(isRead ? '/public/v1/contacts?limit=1' : '/public/v1/contacts', address)
  const headers = {
    authorization: `Bearer ${token}`,
    ...(!isRead && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
  }
  return new Promise((resolve) => {
    const outgoing = request(url, { agent, method: isRead ? 'GET' : 'POST', headers }, (response) => {
      response.on('error', (error) => resolve(error.message))
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    outgoing.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    outgoing.end(body)
  })
}
