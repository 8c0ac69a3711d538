import { Agent, request } from 'undici'
import { expect } from 'vitest'
import { ADMIN_TOKEN } from '../../api.ts'
import { atFileEnd } from '../../file-end.ts'
import { freePort } from '../../free-port.ts'
import { startTestService } from '../../service.ts'

type Headers = Record<string, string | undefined>
type Options = NonNullable<Parameters<typeof startTestService>[0]>

/** The whole service at an address that its settings know, with a client that sends what a page of the console sends. */
export async function startConsole(options: Options = {}) {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const service = await startTestService({ ...options, config: { port, baseUrl: origin, ...options.config } })
  const agents = new Map<string, Agent>()
  atFileEnd(async () => {
    for (const agent of agents.values()) await agent.destroy()
  })

  /** Sends exactly these headers, from an address of this machine; 127.0.0.2 is no address of the service. */
  async function send(method: string, path: string, headers: Headers, body?: unknown, localAddress = '127.0.0.1') {
    const agent = agents.get(localAddress) ?? new Agent({ localAddress })
    agents.set(localAddress, agent)
    const headerPairs = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const answer = await request(`${origin}${path}`, {
      method: method as 'GET',
      headers: Object.fromEntries(headerPairs),
      body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
      dispatcher: agent,
    })
    const text = await answer.body.text()
    return { status: answer.statusCode, headers: answer.headers, text, body: parse(text) }
  }

  /** The headers that the page sends: its own origin, and the cookie when it is signed in. */
  const asPage = (method: string, body: unknown, cookie?: string): Headers => ({
    'sec-fetch-site': 'same-origin',
    ...(method !== 'GET' && { origin }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(cookie !== undefined && { cookie }),
  })
  const page =
    (cookie?: string) =>
    (method: string, path: string, body?: unknown, headers: Headers = {}) =>
      send(method, `/console/api${path}`, { ...asPage(method, body, cookie), ...headers }, body)

  let addresses = 10
  /** An attempt to sign in, from an address of its own. */
  const attempt = (token: string, localAddress = `127.0.0.${addresses++}`) => {
    const body = { token }
    return send('POST', '/console/api/session', asPage('POST', body), body, localAddress)
  }
  const cookieOf = (answer: { headers: Record<string, string | string[] | undefined> }): string =>
    String(answer.headers['set-cookie']).split(';')[0]!

  /** A signed-in page: the cookie, and what it asks below /console/api. */
  async function signIn(token: string) {
    const answer = await attempt(token)
    expect(answer.status, answer.text).toBe(200)
    const cookie = cookieOf(answer)
    return { cookie, session: answer.body, page: page(cookie) }
  }
  const signInAsOperator = () => signIn(ADMIN_TOKEN)
  const codeOf = (url: string): string => new URL(url).hash.replace('#code=', '')

  return { ...service, origin, send, asPage, page, attempt, cookieOf, signIn, signInAsOperator, codeOf }
}

// biome-ignore lint/suspicious/noExplicitAny: what a test reads from an answer is what it asserts
function parse(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
