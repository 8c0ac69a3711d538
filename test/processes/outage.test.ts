import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSandbox } from '../../sandbox/sandbox.ts'
import { connect, type Pool } from '../../src/db/connect.ts'
import { startEmbedded } from '../../src/db/embedded/start.ts'
import { startCutProxy } from '../cut-proxy.ts'
import { startParley, until } from '../parley-process.ts'
import { bodyOf, changeOf, textFrom, WEBHOOK } from '../provider-webhook.ts'
import { startReceiver } from '../receiver.ts'
import { temporaryFolder } from '../temporary-folder.ts'

/** How long each outage lasts at least: longer than the longest answer. */
const OUTAGE_MS = Number(process.env.OUTAGE_MS ?? 6_000)
/** A machine that is gone is noticed when a statement has had no answer for 5 s. */
const NOTICED_MS = 8_000
/** A request without an answer for so long hangs. `npm run faults` measures how long answers and the return take. */
const HANGING_MS = 90_000
const ADMIN = 'operator-token-for-tests-0123456789'
const TIMEOUT = OUTAGE_MS + 300_000

const folder = mkdtempSync(join(temporaryFolder(), 'parley-outage-'))
// Commits survive the killing of the server without fsync.
const options = { fsync: 'off' }
let server: Awaited<ReturnType<typeof startEmbedded>>
let db: Pool
let sandbox: Awaited<ReturnType<typeof startSandbox>>
let receiver: Awaited<ReturnType<typeof startReceiver>>
beforeAll(async () => {
  sandbox = await startSandbox({ autoStatus: false })
  receiver = await startReceiver()
  server = await startEmbedded(folder, options)
  db = connect(server.url, { max: 2 })
})
afterAll(async () => {
  signalAll('SIGCONT')
  await db.end({ timeout: 1 })
  await server.stop()
  await sandbox.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** The server of this file with all its processes. */
function serverPids(): number[] {
  const main = Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
  const children = readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .filter((pid) => parentOf(pid) === main)
  return [main, ...children.map(Number)]
}

function parentOf(pid: string): number {
  try {
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch {
    return 0
  }
}

function signalAll(signal: NodeJS.Signals): void {
  for (const pid of serverPids()) {
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended in between.
    }
  }
}

/** Kinds of requests that no process answers without the database. */
const NEED_DATABASE = ['webhook', 'send', 'conversations', 'contact', 'operator']

type Answer = { kind: string; status: number }

/** A running service with a company, a number and a receiver, and what can be asked of it. */
async function startService(databaseUrl: string) {
  const parley = await startParley({
    DATABASE_URL: databaseUrl,
    SESSION_WINDOW: 'provider',
    WEBHOOK_ALLOW_PRIVATE: 'true',
    SANDBOX: 'off',
    ADMIN_TOKEN: ADMIN,
    ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
    LOG_LEVEL: 'fatal',
  })
  const call = async (method: string, path: string, token?: string, body?: unknown) => {
    const response = await fetch(`${parley.address}${path}`, {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(HANGING_MS),
    })
    // biome-ignore lint/suspicious/noExplicitAny: what a test reads from an answer is what it asserts
    return { status: response.status, body: (await response.json().catch(() => undefined)) as any }
  }
  const { body: company } = await call('POST', '/admin/v1/companies', ADMIN, { name: 'A', rateLimitPerMinute: 1e6 })
  const { body: key } = await call('POST', `/admin/v1/companies/${company.id}/api-keys`, ADMIN, {
    name: 'Key',
    permissions: ['WhatsApp'],
  })
  const phoneNumberId = `5${Date.now()}`
  const number = { phoneNumberId, displayPhoneNumber: '+39 123456789', verifiedName: 'A', wabaAccountId: '1' }
  const connected = await fetch(`${sandbox.url}/sandbox/numbers`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(number),
  })
  expect(connected.ok).toBe(true)
  const sender = await call('POST', `/admin/v1/companies/${company.id}/senders`, ADMIN, {
    provider: 'meta',
    phoneNumber: '+39 123456789',
    phoneName: 'A',
    phoneNumberId,
    wabaAccountId: '1',
    accessToken: 'token',
    apiBaseUrl: sandbox.url,
  })
  expect(sender.status).toBe(201)
  const registration = { name: 'R', url: receiver.url, events: ['whatsapp.message.received'] }
  expect((await call('POST', '/public/v1/webhooks/registrations', key.token, registration)).status).toBe(201)

  const stored: string[] = []
  const say = async () => {
    const message = textFrom('393331234567', `n${stored.length}`)
    const { status } = await call('POST', WEBHOOK, undefined, bodyOf(changeOf(phoneNumberId, { messages: [message] })))
    if (status === 200) stored.push(message.id)
    return status
  }
  const send = async () => {
    const recipient = `39333765${1000 + Math.floor(Math.random() * 50)}`
    const message = { type: 'text', recipient, text: 'Hello' }
    return (await call('POST', '/public/v1/templates/whatsapp/send', key.token, message)).status
  }
  const list = async () => (await call('GET', '/public/v1/whatsapp/conversations', key.token)).status
  const requests: Record<string, () => Promise<number>> = {
    webhook: say,
    send,
    conversations: list,
    messages: async () => (await call('GET', '/public/v1/whatsapp/conversations/1/messages', key.token)).status,
    close: async () =>
      (await call('PATCH', '/public/v1/whatsapp/conversations/1', key.token, { status: 'closed' })).status,
    contact: async () =>
      (await call('POST', '/public/v1/contacts', key.token, { email: `a${Math.random()}@b.example` })).status,
    stranger: async () => (await call('GET', '/public/v1/whatsapp/conversations', 'PARLEY-no-key')).status,
    nowhere: async () => (await call('GET', '/public/v1/nothing/here', key.token)).status,
    operator: async () => (await call('GET', '/admin/v1/companies', ADMIN)).status,
    events: async () => (await call('GET', '/admin/v1/failed-events', ADMIN)).status,
  }
  return { parley, requests, say, send, list, stored }
}

/** Adds the answers to all kinds of requests, again and again, until `stop`; more at once than the pool has connections. */
async function ask(requests: Record<string, () => Promise<number>>, answers: Answer[], isOver: () => boolean) {
  const loop = async (kind: string, request: () => Promise<number>) => {
    while (!isOver()) {
      // No answer at all counts as status 0.
      const status = await request().catch(() => 0)
      answers.push({ kind, status })
      await sleep(20)
    }
  }
  const loops = Object.entries(requests).flatMap(([kind, request]) => [1, 2, 3, 4].map(() => loop(kind, request)))
  await Promise.all(loops)
}

/** Until it answers everything, and all that it took has been handled. */
async function untilBack({ say, list, send, stored }: Awaited<ReturnType<typeof startService>>): Promise<void> {
  await until('everything is answered', async () => {
    const statuses = await Promise.all([say(), list(), send()].map((one) => one.catch(() => 0)))
    return statuses.every((status) => status === 200)
  })
  await until('all that was taken is handled', async () => (await handledCount(stored)) === stored.length)
}

/** A job whose claim was lost on its way waits for the end of its lease, so nothing is said of when. */
const untilDelivered = (wamids: string[]): Promise<void> =>
  until('all that was taken is delivered', () => {
    const delivered = new Set(receiver.received.map(({ headers }) => headers['x-service-delivery']))
    return wamids.every((wamid) => delivered.has(wamid))
  })

async function handledCount(wamids: string[]): Promise<number> {
  const [row] = await db<{ count: number }[]>`select count(*)::int from messages where wamid = any(${wamids})`
  return row!.count
}

/** Where the service finds the database, and how that goes away for `ms`, and comes back when the answer is called. */
type Outage = { name: string; ms: number; prepare(): Promise<{ url: string; begin(): () => Promise<void> }> }

const outages: Outage[] = [
  {
    name: 'is silent',
    ms: OUTAGE_MS,
    prepare: async () => ({
      url: server.url,
      begin: () => {
        signalAll('SIGSTOP')
        return async () => signalAll('SIGCONT')
      },
    }),
  },
  {
    name: 'was killed',
    ms: OUTAGE_MS,
    prepare: async () => ({
      url: server.url,
      begin: () => {
        signalAll('SIGKILL')
        return async () => {
          // It leaves only the lock of its folder.
          await server.stop()
          server = await startEmbedded(folder, options)
        }
      },
    }),
  },
  {
    name: 'was on a machine that is gone, and is another’s now',
    ms: Math.max(OUTAGE_MS, NOTICED_MS),
    prepare: async () => {
      const way = await startCutProxy(server.url)
      return {
        url: way.url,
        begin: () => {
          way.become('silent')
          return async () => way.become('open')
        },
      }
    },
  },
]

test.each(outages)(
  'a database that $name: 503, nothing hangs, nothing taken is lost, all is well after its return',
  async ({ ms, prepare }) => {
    const { url, begin } = await prepare()
    const service = await startService(url)
    for (let n = 0; n < 5; n += 1) expect(await service.say()).toBe(200)
    await untilBack(service)

    const answers: Answer[] = []
    let isOver = false
    const asking = ask(service.requests, answers, () => isOver)
    // On a busy machine a fixed time is not enough for an answer of each kind.
    const endAfter = async (error: unknown) => {
      isOver = true
      await asking
      throw error
    }
    await until('each kind is answered', () => {
      const kinds = new Set(answers.filter(({ status }) => status !== 503).map(({ kind }) => kind))
      return kinds.size === Object.keys(service.requests).length
    }).catch(endAfter)
    const before = answers.length
    const end = begin()
    const goneAt = service.stored.length
    await sleep(ms)
    await until('the database is missed', () =>
      NEED_DATABASE.every((kind) => answers.slice(before).some((one) => one.kind === kind && one.status === 503)),
    ).catch(endAfter)
    const kept = service.stored.length
    isOver = true
    await asking.finally(end)
    await untilBack(service)
    await untilDelivered(service.stored)

    // One commit may have been on its way when it went.
    expect(kept - goneAt).toBeLessThan(20)
    expect(answers.filter(({ status }) => status === 0)).toEqual([])
    // A stranger has 100 requests in a minute, which an outage on a busy machine may outlast.
    const isSlowedDown = ({ kind, status }: Answer) => kind === 'stranger' && status === 429
    const statuses = answers.filter((answer) => !isSlowedDown(answer)).map(({ status }) => status)
    expect([...new Set(statuses)].sort()).toEqual([200, 401, 404, 503])
    expect(service.parley.output()).not.toContain('parley.crashed')
    expect(await service.parley.signal('SIGTERM')).toBe(0)
  },
  TIMEOUT,
)
