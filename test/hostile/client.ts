import { Agent, request } from 'undici'
import type { Contract, Operation } from './operation.ts'
import type { Tally } from './tally.ts'

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

/** A client that sends what it is told, from its own address of the loopback range. */
export function createClient(url: string, localAddress = '127.0.0.1', connections = 16): Client {
  const agent = new Agent({ connections, pipelining: 1, localAddress, headersTimeout: 60_000 })
  return {
    send: async ({ method, path, headers = {}, body }) => {
      const startedAt = performance.now()
      const answer = await request(`${url}${path}`, {
        method: method.toUpperCase() as 'GET',
        headers,
        body: body ?? null,
        dispatcher: agent,
      })
      const text = await answer.body.text()
      return { status: answer.statusCode, headers: answer.headers, text, ms: performance.now() - startedAt }
    },
    close: () => agent.close(),
  }
}

/** Texts that no answer may hold: traces of code and SQL, the service's secrets, another company's words. */
export type Secrets = { everywhere: readonly string[]; foreign: string }

const TRACES =
  /node:internal|\.ts:\d+:\d+|\bselect .{1,200} from |\binsert into |SQLSTATE|PostgresError|violates .* constraint/

/** The provider of a number that the fuzz connects: the fault is not the service's. */
const UNREACHABLE_PROVIDER = /The provider could not be reached/

export type Limits = { slowMs: number }

/** Counts what is wrong with an answer. */
export function judge(
  tally: Tally,
  contract: Contract,
  secrets: Secrets,
  { slowMs }: Limits,
  operation: Operation,
  sent: Request,
  answer: Answer,
): void {
  tally.requests++
  const evidence = `${operation.name} ${answer.status} ${JSON.stringify({ ...sent, body: String(sent.body ?? '').slice(0, 120) })} -> ${answer.text.slice(0, 200)}`
  if (answer.status >= 500 && !UNREACHABLE_PROVIDER.test(answer.text)) tally.add('answers with status 5xx', evidence)
  if (answer.ms > slowMs) tally.add('slow answers', `${Math.round(answer.ms)} ms, ${evidence}`)
  const fault = contract.faultOf(operation, answer.status, String(answer.headers['content-type'] ?? ''), answer.text)
  if (fault !== undefined) tally.add('answers not described', `${fault}: ${evidence}`)
  const leak = [...secrets.everywhere, secrets.foreign].find((secret) => answer.text.includes(secret))
  if (leak !== undefined) tally.add('leaks', `${leak}: ${evidence}`)
  else if (TRACES.test(answer.text)) tally.add('leaks', evidence)
}
