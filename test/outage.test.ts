import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, type Pool } from '../src/db/connect.ts'
import { startEmbedded } from '../src/db/embedded.ts'
import { startParley } from './parley-process.ts'
import { bodyOf, changeOf, textFrom, WEBHOOK } from './provider-webhook.ts'

const OUTAGE_MS = 10_000
const LONGEST_ANSWER_MS = 5_000
const ADMIN = 'operator-token-for-tests-0123456789'
const TIMEOUT = 180_000

const folder = mkdtempSync(join(tmpdir(), 'parley-outage-'))
const options = { fsync: 'off', synchronous_commit: 'off' }
let server: Awaited<ReturnType<typeof startEmbedded>>
let db: Pool
beforeAll(async () => {
  server = await startEmbedded(folder, options)
  db = connect(server.url, { max: 2 })
})
afterAll(async () => {
  signalAll('SIGCONT')
  await db.end({ timeout: 1 })
  await server.stop()
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

type Answer = { kind: string; status: number; ms: number }

/** A running service with a company and a number, and what can be asked of it. */
async function startService() {
  const parley = await startParley({
    DATABASE_URL: server.url,
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
  const sender = await call('POST', `/admin/v1/companies/${company.id}/senders`, ADMIN, {
    provider: 'meta',
    phoneNumber: '+39 123456789',
    phoneName: 'A',
    phoneNumberId,
    wabaAccountId: '1',
    accessToken: 'token',
    apiBaseUrl: 'http://127.0.0.1:9',
  })
  expect(sender.status).toBe(201)

  const stored: string[] = []
  const say = async () => {
    const message = textFrom('393331234567', `n${stored.length}`)
    const { status } = await call('POST', WEBHOOK, undefined, bodyOf(changeOf(phoneNumberId, { messages: [message] })))
    if (status === 200) stored.push(message.id)
    return status
  }
  const list = async () => (await call('GET', '/public/v1/whatsapp/conversations', key.token)).status
  const requests: Record<string, () => Promise<number>> = {
    webhook: say,
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
  return { parley, requests, say, list, stored, phoneNumberId }
}

/** All kinds of requests, again and again, until told to stop; more at once than the pool has connections. */
async function ask(requests: Record<string, () => Promise<number>>, isOver: () => boolean): Promise<Answer[]> {
  const answers: Answer[] = []
  const loop = async (kind: string, request: () => Promise<number>) => {
    while (!isOver()) {
      const startedAt = performance.now()
      const status = await request()
      answers.push({ kind, status, ms: performance.now() - startedAt })
      await sleep(20)
    }
  }
  const loops = Object.entries(requests).flatMap(([kind, request]) => [1, 2, 3, 4].map(() => loop(kind, request)))
  await Promise.all(loops)
  return answers
}

async function untilBack(service: Awaited<ReturnType<typeof startService>>): Promise<number> {
  const startedAt = performance.now()
  for (;;) {
    const statuses = [await service.say(), await service.list()]
    const count = await handledCount(service.stored).catch(() => 0)
    if (statuses.every((status) => status === 200) && count === service.stored.length) break
    await sleep(50)
  }
  return performance.now() - startedAt
}

async function handledCount(wamids: string[]): Promise<number> {
  const [row] = await db<{ count: number }[]>`select count(*)::int from messages where wamid = any(${wamids})`
  return row!.count
}

const outages: [string, () => Promise<() => Promise<void>>][] = [
  [
    'that is silent',
    async () => {
      signalAll('SIGSTOP')
      return async () => signalAll('SIGCONT')
    },
  ],
  [
    'that was killed',
    async () => {
      signalAll('SIGKILL')
      return async () => {
        // What is left of it is the lock of its folder.
        await server.stop()
        server = await startEmbedded(folder, options)
      }
    },
  ],
]

// Known defect: when its server dies, the driver may throw outside of any statement (`nextWrite` on a socket that is
// gone), which ends the process. Until that is mended these outages run on demand: OUTAGE=1.
describe.runIf(process.env.OUTAGE === '1').each(outages)('a database %s', (_, begin) => {
  test(
    'gets 503, nothing hangs, nothing answered 200 is lost, and all is well within 5 s of its return',
    async () => {
      const service = await startService()
      for (let n = 0; n < 5; n += 1) expect(await service.say()).toBe(200)
      await untilBack(service)

      let isOver = false
      const asking = ask(service.requests, () => isOver)
      await sleep(500)
      const end = await begin()
      const goneAt = service.stored.length
      await sleep(OUTAGE_MS)
      const kept = service.stored.length
      isOver = true
      const answers = await asking
        .catch((error) => {
          throw new Error(service.parley.output(), { cause: error })
        })
        .finally(end)
      const backMs = await untilBack(service)

      // One commit may have been on its way when it went.
      expect(kept - goneAt).toBeLessThan(20)
      const late = answers.filter(({ ms }) => ms > LONGEST_ANSWER_MS)
      expect(late).toEqual([])
      expect([...new Set(answers.map(({ status }) => status))].sort()).toEqual([200, 401, 404, 503])
      for (const kind of ['webhook', 'conversations', 'contact', 'operator']) {
        expect(answers.filter((one) => one.kind === kind && one.status === 503).length, kind).toBeGreaterThan(0)
      }
      expect(backMs).toBeLessThan(5_000)
      expect(await service.parley.signal('SIGTERM')).toBe(0)
    },
    TIMEOUT,
  )
})
