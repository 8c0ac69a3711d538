import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type Agent, get, type IncomingMessage } from 'node:http'
import { createConnection } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { childrenOf } from '../../bench/process.ts'
import { createTestKey } from '../api.ts'
import { createTestDatabase } from '../database.ts'
import { freePort } from '../free-port.ts'
import { dataFolder, type ParleyProcess, runParley, startParley, until } from '../parley-process.ts'
import { bodyOf, changeOf, newWamid, WEBHOOK } from '../provider-webhook.ts'
import { connectNumber } from '../world.ts'

const PROCESSES = 2
const KILLS = 2
const POSTERS = 6
const PER_BODY = 5
const ADMIN_TOKEN = 'operator-token-for-tests-0123456789'
const TIMEOUT = 300_000

const settings = (url: string) => ({
  DATABASE_URL: url,
  DATA_DIR: dataFolder(),
  PROCESSES: String(PROCESSES),
  ADMIN_TOKEN,
  ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
})

/** The workers of a supervisor: its children that run its own program. */
const workersOf = ({ pid }: ParleyProcess) => childrenOf(pid)

/** node:cluster gives a worker its number in the environment. */
const isWorker = (pid: number) => readFileSync(`/proc/${pid}/environ`, 'utf8').includes('NODE_UNIQUE_ID=')

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test(
  'a first worker that is killed while another one starts ends the start, with a sentence and without a process',
  async () => {
    const { url } = await createTestDatabase()
    let isStarting = false
    // The second one may be quicker than this process: then another start is tried.
    while (!isStarting) {
      const parley = await runParley(settings(url))
      // A child that has not become a worker yet keeps its parent waiting, and stopped it would for ever.
      await until('both workers exist', () => workersOf(parley).filter(isWorker).length === PROCESSES)
      const [first, second] = workersOf(parley).toSorted((a, b) => a - b)
      process.kill(second!, 'SIGSTOP')
      isStarting = !parley.output().includes('Parley listens on')
      process.kill(first!, 'SIGKILL')
      if (isStarting) await until('the first one has ended', () => !isAlive(first!))
      process.kill(second!, 'SIGCONT')
      if (isStarting) {
        expect(await parley.exited).toBe(1)
        expect(parley.output()).toContain('A worker ended while others were starting (SIGKILL)')
      } else await parley.signal('SIGTERM')
      expect([first!, second!].filter(isAlive)).toEqual([])
    }
  },
  TIMEOUT,
)

test(
  'workers share one port, count requests exactly together, and /metrics answers the sum of all',
  async () => {
    const { db, url } = await createTestDatabase()
    const { headers } = await createTestKey(db, { rateLimitPerMinute: 90 })
    const parley = await startParley(settings(url))
    const workers = workersOf(parley)
    expect(workers).toHaveLength(PROCESSES)

    await untilWindowHasTime()
    const statuses = await Promise.all(
      Array.from({ length: 120 }, () => statusOf(parley, '/public/v1/contacts', headers)),
    )
    expect(statuses.filter((status) => status === 200)).toHaveLength(90)
    expect(statuses.filter((status) => status === 429)).toHaveLength(30)
    const count = async (status: number) => {
      const text = await (await fetch(`${parley.address}/metrics`)).text()
      const line = new RegExp(
        `^parley_http_requests_total\\{method="GET",route="/public/v1/contacts",status="${status}"\\} (\\d+)$`,
        'm',
      )
      return Number(line.exec(text)?.[1])
    }
    // A worker that answers too late counts with its last answer.
    await until('all are counted', async () => (await count(200)) === 90 && (await count(429)) === 30)
    const gauge = /^parley_build_info\{.*\} (\d+)$/m.exec(await (await fetch(`${parley.address}/metrics`)).text())
    expect(gauge?.[1]).toBe('1')

    // A counter that fell would look like a rise to who reads it.
    process.kill(workers[0]!, 'SIGKILL')
    await until('it is restarted', () => workersOf(parley).filter((pid) => !workers.includes(pid)).length === 1)
    expect(await count(200)).toBe(90)
    expect(await parley.signal('SIGTERM')).toBe(0)
    expect(workers.filter(isAlive)).toEqual([])
  },
  TIMEOUT,
)

test(
  'a worker that gets kill -9 under load is restarted, and every event that was answered 200 is processed once',
  async () => {
    const { db, url } = await createTestDatabase()
    const phoneNumberId = await connectNumber(db)
    const parley = await startParley(settings(url))
    let isOver = false
    const acknowledged: string[][] = []
    const refused: string[] = []
    const post = async (customer: string) => {
      const wamids: string[] = []
      acknowledged.push(wamids)
      while (!isOver) {
        const messages = Array.from({ length: PER_BODY }, () => ({
          from: customer,
          id: newWamid(),
          timestamp: '1760000000',
          type: 'text',
          text: { body: 'Hello' },
        }))
        const body = JSON.stringify(bodyOf(changeOf(phoneNumberId, { messages })))
        while (!(await isTaken(parley, body, refused))) await sleep(5)
        wamids.push(...messages.map(({ id }) => id))
        await sleep(5)
      }
    }
    const customers = Array.from({ length: POSTERS }, (_, n) => `39333000000${n}`)
    const posting = Promise.all(customers.map(post))
    for (let kills = 0; kills < KILLS; kills += 1) {
      await sleep(500)
      const before = workersOf(parley)
      process.kill(before[0]!, 'SIGKILL')
      await until('another one answers', () => listening(parley) === PROCESSES + kills + 1)
      const answered = acknowledged.flat().length
      await until('events are taken', () => acknowledged.flat().length > answered)
    }
    isOver = true
    await posting
    await until('all events are handled', async () => (await db`select 1 from inbound_events limit 1`).length === 0)

    for (const [place, customer] of customers.entries()) {
      const rows = await db<{ wamid: string }[]>`
      select message.wamid
      from messages message
      join conversations conversation
        on (conversation.company_id, conversation.id) = (message.company_id, message.conversation_id)
      join customer_identities identity
        on (identity.company_id, identity.customer_id) = (conversation.company_id, conversation.customer_id)
      where identity.identity = ${customer}
      order by message.seq
    `
      expect(rows.map(({ wamid }) => wamid)).toEqual(acknowledged[place])
    }
    expect(await db`select 1 from inbound_items`).toHaveLength(0)
    // The port stays open while a worker is away.
    expect(refused.filter((code) => code === 'ECONNREFUSED')).toEqual([])
    expect(parley.output().match(/worker\.ended/g)).toHaveLength(KILLS)
    expect(await parley.signal('SIGTERM')).toBe(0)
  },
  TIMEOUT,
)

test(
  'workers share the mail server of return paths, also after one was replaced; a second service reports that its port is in use',
  async () => {
    const { url } = await createTestDatabase()
    const port = await freePort()
    const bounces = {
      BOUNCE_DOMAIN: 'bounces.example.org',
      BOUNCE_SMTP_PORT: String(port),
      BOUNCE_SMTP_HOST: '127.0.0.1',
    }
    const parley = await startParley({ ...settings(url), ...bounces })
    expect(await greetingOf(port)).toMatch(/^220 /)
    const second = await runParley({ ...settings(url), ...bounces, PROCESSES: '1' })
    await second.says('BOUNCE_SMTP_PORT')
    const [first] = workersOf(parley)
    process.kill(first!, 'SIGTERM')
    await until('it is replaced', () => !isAlive(first!) && workersOf(parley).length === PROCESSES)
    expect(await greetingOf(port)).toMatch(/^220 /)
    expect(await parley.signal('SIGTERM')).toBe(0)
    await expect(greetingOf(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  },
  TIMEOUT,
)

/** The first line of a mail server. */
async function greetingOf(port: number): Promise<string> {
  const socket = createConnection(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const [line] = await once(socket, 'data')
  socket.end('QUIT\r\n')
  return String(line)
}

/** How many workers have begun to answer so far. */
const listening = (parley: ParleyProcess): number => parley.output().match(/Server listening at/g)?.length ?? 0

/** A window that ends in the middle of the test would admit more. */
async function untilWindowHasTime(): Promise<void> {
  await until('the window has just begun', () => Date.now() % 60_000 < 40_000)
}

async function isTaken({ address }: ParleyProcess, body: string, failures: string[]): Promise<boolean> {
  try {
    const response = await fetch(`${address}${WEBHOOK}`, { method: 'POST', body })
    return response.status === 200
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined
    failures.push(cause instanceof Error && 'code' in cause ? String(cause.code) : 'failed')
    return false
  }
}

function statusOf({ address }: ParleyProcess, path: string, headers: Record<string, string>, agent?: Agent) {
  return new Promise<number | string>((resolve) => {
    const request = get(`${address}${path}`, { headers, ...(agent && { agent }) }, (response: IncomingMessage) => {
      response.on('error', (error) => resolve(error.message))
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  })
}
