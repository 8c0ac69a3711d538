import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createTestKey } from '../api.ts'
import { createTestDatabase } from '../database.ts'
import { freePort } from '../free-port.ts'
import { dataFolder, type ParleyProcess, startParley } from '../parley-process.ts'

const CLIENTS = 8
/** One of each node. `npm run faults -- --rolling` restarts more often. */
const RESTARTS = 2
const PAUSE_MS = 10

test.each([
  1, 2,
])('calls on kept-alive connections never fail while two nodes of %d workers are restarted in turn', async (workers) => {
  const { db, url } = await createTestDatabase()
  const { headers } = await createTestKey(db, { rateLimitPerMinute: 1_000_000 })
  const ports = [await freePort(), await freePort()]
  const launch = (port: number) =>
    startParley({
      DATABASE_URL: url,
      DATA_DIR: dataFolder(),
      PORT: String(port),
      PROCESSES: String(workers),
      STOP_DELAY_MS: '1000',
      ADMIN_TOKEN: 'a'.repeat(32),
      ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
    })
  const processes: ParleyProcess[] = await Promise.all(ports.map(launch))

  const clients = Array.from({ length: CLIENTS }, () => callInTurn(ports, headers))
  const notReady: number[] = []
  for (let restart = 0; restart < RESTARTS; restart += 1) {
    const place = restart % 2
    const process = processes[place]!
    const stopped = process.signal('SIGTERM')
    await sleep(300)
    const ready = fetch(`${process.address}/readyz`)
    notReady.push(
      await ready.then(
        (reply) => reply.status,
        () => 0,
      ),
    )
    expect(await stopped).toBe(0)
    processes[place] = await launch(ports[place]!)
    await sleep(500)
  }
  const results = await Promise.all(clients.map((client) => client.stop()))
  expect(results.flatMap(({ failures }) => failures)).toEqual([])
  expect(results.every(({ answered }) => answered > RESTARTS)).toBe(true)
  expect(results.some(({ moved }) => moved > 0)).toBe(true)
  // A proxy that looks at /readyz learns of it while the process still answers.
  expect(notReady).toEqual(Array(RESTARTS).fill(503))
}, 300_000)

/** One client that calls again and again, as a proxy would: it goes to the other process when a connection is refused. */
function callInTurn(ports: number[], headers: Record<string, string>) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const outcome = { answered: 0, moved: 0, failures: [] as string[] }
  let isOver = false
  let place = 0
  const run = async () => {
    while (!isOver) {
      const result = await call(agent, ports[place]!, headers)
      if (result === 200) outcome.answered += 1
      else if (result !== 'ECONNREFUSED') outcome.failures.push(String(result))
      else {
        outcome.moved += 1
        place = 1 - place
      }
      // Without a pause, eight clients keep all processors busy.
      await sleep(PAUSE_MS)
    }
  }
  const running = run()
  const stop = async () => {
    isOver = true
    await running
    agent.destroy()
    return outcome
  }
  onTestFinished(async () => void (await stop()))
  return { stop }
}

function call(agent: Agent, port: number, headers: Record<string, string>): Promise<number | string | undefined> {
  return new Promise((resolve) => {
    const request = get(
      { host: '127.0.0.1', port, path: '/public/v1/contacts?limit=1', agent, headers },
      (response) => {
        response.on('error', (error) => resolve(error.message))
        response.resume().on('end', () => resolve(response.statusCode))
      },
    )
    request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  })
}
