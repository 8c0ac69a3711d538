import { Agent, get, type IncomingMessage } from 'node:http'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { childrenOf } from '../../bench/process.ts'
import { createTestKey } from '../api.ts'
import { createTestDatabase } from '../database.ts'
import { freePort } from '../free-port.ts'
import {
  dataFolder,
  type ParleyProcess,
  processesOn,
  readyFolder,
  runParley,
  startParley,
  until,
} from '../parley-process.ts'

const PROCESSES = 2
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

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test(
  'a worker that is asked to stop alone fails no call and is replaced',
  async () => {
    const { db, url } = await createTestDatabase()
    const { headers } = await createTestKey(db, { rateLimitPerMinute: 1_000_000 })
    const parley = await startParley({ ...settings(url), STOP_DELAY_MS: '1000' })
    const agent = new Agent({ keepAlive: true, maxSockets: 4 })
    onTestFinished(() => agent.destroy())
    let isOver = false
    const statuses: (number | string)[] = []
    const call = async () => {
      while (!isOver) {
        statuses.push(await statusOf(parley, '/public/v1/contacts?limit=1', headers, agent))
        await sleep(5)
      }
    }
    const calling = Promise.all([1, 2, 3, 4].map(call))
    const before = workersOf(parley)
    process.kill(before[1]!, 'SIGTERM')
    await until('it is replaced', () => !isAlive(before[1]!) && workersOf(parley).length === PROCESSES)
    isOver = true
    await calling
    expect([...new Set(statuses)]).toEqual([200])
    expect(await parley.signal('SIGTERM')).toBe(0)
  },
  TIMEOUT,
)

// Repeated when it fails: on a busy machine a connection may come between the last look for one and the close.
test('a stop resets no connection, though the supervisor halts while its last worker closes the listener', {
  timeout: TIMEOUT,
  retry: 2,
}, async () => {
  const { url } = await createTestDatabase()
  const parley = await startParley({ ...settings(url), STOP_DELAY_MS: '0' })
  const workers = workersOf(parley)
  const outcomes = new Set<number | string>()
  const calls: Promise<unknown>[] = []
  const call = async () => outcomes.add(await statusOf(parley, '/healthz', {}))
  // New connections without a pause: a worker then waits for the longest time before it closes its share of the listener.
  const calling = setInterval(() => void calls.push(call()), 5)
  onTestFinished(() => clearInterval(calling))

  const stopped = parley.signal('SIGTERM')
  await until('one worker has ended', () => !workers.every(isAlive))
  await sleep(100)
  // On a busy machine it may have ended by now.
  signalIfAlive(parley.pid, 'SIGSTOP')
  await until('the listener is closed', () => outcomes.has('ECONNREFUSED'), 3_000).catch(() => {})
  signalIfAlive(parley.pid, 'SIGCONT')
  expect(await stopped).toBe(0)
  clearInterval(calling)
  await Promise.all(calls)
  expect([...outcomes].toSorted()).toEqual([200, 'ECONNREFUSED'])
})

test(
  'workers on the embedded database end with their supervisor, in order or by kill -9',
  async () => {
    const folder = await readyFolder()
    const first = await startParley({
      DATA_DIR: folder,
      PROCESSES: '2',
      SANDBOX: 'on',
      SANDBOX_PORT: String(await freePort()),
    })
    await first.says('# Send a text')
    expect(first.output().match(/Parley listens on/g)).toHaveLength(1)
    // The whole group, as a terminal's Ctrl-C arrives.
    process.kill(-first.pid, 'SIGINT')
    expect(await first.exited).toBe(0)
    expect(processesOn(folder)).toEqual([])

    const second = await startParley({ DATA_DIR: folder, PROCESSES: '2' })
    const children = childrenOf(second.pid)
    await second.signal('SIGKILL')
    await until('no process is left', () => !children.some(isAlive) && processesOn(folder).length === 0)
  },
  TIMEOUT,
)

test('a fault that keeps all workers from starting is reported once', async () => {
  const { url } = await createTestDatabase()
  const port = await freePort()
  const other = createServer().listen(port, '127.0.0.1')
  onTestFinished(() => void other.close())
  const parley = await runParley({ ...settings(url), PORT: String(port) })
  expect(await parley.exited).toBe(1)
  const refusal = `Port ${port} is in use: stop what listens there or set PORT`
  expect(parley.output().split(refusal)).toHaveLength(2)
  expect(parley.output()).not.toMatch(/\n\s+at /)
})

function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  if (isAlive(pid)) process.kill(pid, signal)
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
