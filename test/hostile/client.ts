import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { Contract, Operation } from './operation.ts'
import type { Tally } from './tally.ts'
import { HANG_MS } from './until-found.ts'

export type Answer = { status: number; headers: Record<string, unknown>; text: string; ms: number }
export type Request = {
  method: string
  path: string
  headers?: Record<string, string>
  body?: string | Buffer
}
export type Client = {
  send(request: Request): Promise<Answer>
  close(): Promise<void>
}

const BUSY_PAUSE_MS = 500

/** A client that sends requests as they are, from its own address of the loopback range. */
export function createClient(url: string, localAddress = '127.0.0.1', connections = 16): Client {
  const agent = new Agent({
    connections,
    pipelining: 1,
    localAddress,
    headersTimeout: HANG_MS,
    bodyTimeout: HANG_MS,
  })
  const sendOnce = async ({ method, path, headers = {}, body }: Request) => {
    const answer = await request(`${url}${path}`, {
      method: method.toUpperCase() as 'GET',
      headers,
      body: body ?? null,
      dispatcher: agent,
    })
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
  }
  return { send: repeatBusy(sendOnce, /The database does not answer/), close: () => agent.close() }
}

/**
 * The client, which also repeats what an overloaded service refused: while other programs use the machine, a request may wait
 * two seconds for the database without any attack.
 */
export const patient = (client: Client): Client => ({
  ...client,
  send: repeatBusy(client.send, /Too many requests wait/),
})

/** Repeats a request while a busy machine makes the service refuse it with this text. */
function repeatBusy(send: (request: Request) => Promise<Omit<Answer, 'ms'>>, busy: RegExp): Client['send'] {
  return async (one) => {
    const startedAt = performance.now()
    for (;;) {
      const answer = await send(one)
      const ms = performance.now() - startedAt
      if (answer.status !== 503 || !busy.test(answer.text) || ms > HANG_MS) return { ...answer, ms }
      await sleep(BUSY_PAUSE_MS)
    }
  }
}

/** The client, which sends at most so many requests a second, evenly. */
export function paced(client: Client, perSecond: number): Client {
  let dueAt = 0
  return {
    ...client,
    send: async (one) => {
      const now = performance.now()
      dueAt = Math.max(dueAt + 1_000 / perSecond, now)
      await sleep(dueAt - now)
      return client.send(one)
    },
  }
}

/** Texts that no answer may hold: traces of code and SQL, the service's secrets, another company's words. */
export type Secrets = { everywhere: readonly string[]; foreign: string }

const TRACES =
  /node:internal|\.ts:\d+:\d+|\bselect .{1,200} from |\binsert into |SQLSTATE|DatabaseError|violates .* constraint/

/** The provider of a number that the fuzz connects: the fault is not the service's. */
const UNREACHABLE_PROVIDER = /The provider could not be reached/

/** Counts what is wrong with an answer. */
export function judge(
  tally: Tally,
  contract: Contract,
  secrets: Secrets,
  operation: Operation,
  sent: Request,
  answer: Answer,
): void {
  tally.requests++
  const evidence = `${operation.name} ${answer.status} ${JSON.stringify({ ...sent, body: String(sent.body ?? '').slice(0, 120) })} -> ${answer.text.slice(0, 200)}`
  if (answer.status >= 500 && !UNREACHABLE_PROVIDER.test(answer.text)) tally.add('answers with status 5xx', evidence)
  const fault = contract.faultOf(operation, answer.status, String(answer.headers['content-type'] ?? ''), answer.text)
  if (fault !== undefined) tally.add('answers not described', `${fault}: ${evidence}`)
  const leak = [...secrets.everywhere, secrets.foreign].find((secret) => answer.text.includes(secret))
  if (leak !== undefined) tally.add('leaks', `${leak}: ${evidence}`)
  else if (TRACES.test(answer.text)) tally.add('leaks', evidence)
}
