// Prints how many source files three journeys reach in a running service: a text send, a webhook until its delivery, and a
// contact upsert. A file counts if one of its functions runs in every round of the journey and not in an idle service.
//   npm run reach [-- --files]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../test/free-port.ts'

/** Fills caches and prepares statements first, so that only the steady path counts. */
const WARM_UPS = 20
const ROUNDS = 10
/** Leaves time for writes that follow the reply or the delivery. */
const SETTLE_MS = 300
const DEMO_CUSTOMER = '393331234567'
const DEMO_NUMBER_ID = '100000000000001'
const SOURCE = new URL('../src/', import.meta.url).href

/** Executed functions as `file offset`. */
type Reach = Set<string>

const folder = mkdtempSync(join(tmpdir(), 'parley-reach-'))
const [port, sandboxPort] = [await freePort(), await freePort()]
const api = `http://127.0.0.1:${port}/public/v1`
const sandbox = `http://127.0.0.1:${sandboxPort}/sandbox`
process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

// Starts the service in this process, where the inspector counts its functions.
const profiler = new Session()
profiler.connect()
await profiler.post('Profiler.enable')
await profiler.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
Object.assign(process.env, { DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'error' })
Object.assign(process.env, { PORT: String(port), SANDBOX_PORT: String(sandboxPort), BASE_URL: new URL(api).origin })
const listsFiles = process.argv.includes('--files')
process.argv.splice(2, Infinity, 'start')
// Not awaited: it runs until SIGTERM.
void import('../src/main.ts')

await untilReady()
// Statuses would add the files of incoming events to each send.
await call(`${sandbox}/behaviour`, { autoStatus: false }, { method: 'PUT' })
// Opens the window of each customer: a text to a new one is refused, and several to the same one are throttled.
for (let n = 0; n < WARM_UPS + ROUNDS; n += 1) await receive(n)
const idle = await measure(async () => {})
for (const [name, journey] of Object.entries({ send, webhook: receive, upsert })) {
  for (let n = 0; n < WARM_UPS; n += 1) await journey(n)
  const reached = await measure((round) => journey(WARM_UPS + round))
  const functions = [...reached].filter((place) => !idle.has(place))
  const files = [...new Set(functions.map((place) => place.split(' ')[0] ?? ''))].toSorted()
  console.log(`${name}: ${files.length} files`)
  if (listsFiles) for (const file of files) console.log(`  src/${file}`)
}
process.kill(process.pid, 'SIGTERM')

async function send(n: number): Promise<void> {
  await call(`${api}/templates/whatsapp/send`, { recipient: phoneOf(n), type: 'text', text: 'Your order is ready' })
}

/** Posts a customer's text as the provider does, and waits for the delivery at the demo receiver. */
async function receive(n: number): Promise<void> {
  const body = `Is order ${crypto.randomUUID()} ready?`
  const event = { phoneNumberId: DEMO_NUMBER_ID, from: phoneOf(n), type: 'text', text: { body } }
  await call(`${sandbox}/inbound`, event)
  while (!(await (await fetch(`${sandbox}/receivers/demo/requests`)).text()).includes(body)) await sleep(5)
}

async function upsert(n: number): Promise<void> {
  await call(`${api}/contacts`, { phone: `+${phoneOf(n)}`, firstName: 'Ada', lastName: `Rossi ${n}` })
}

function phoneOf(n: number): string {
  return String(393_337_000_000 + n)
}

async function call(url: string, body: object, { method = 'POST' } = {}): Promise<void> {
  const token = readFileSync(join(folder, 'data/demo-token'), 'utf8').trim()
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`)
  await response.arrayBuffer()
}

/** Resolves when the demo, which is set up last, takes a text to its customer. */
async function untilReady(): Promise<void> {
  const text = { recipient: DEMO_CUSTOMER, type: 'text', text: 'Hello' }
  const isReady = () =>
    call(`${api}/templates/whatsapp/send`, text).then(
      () => true,
      () => false,
    )
  while (!(await isReady())) await sleep(250)
}

/** Returns the functions that run in every round of `work`. */
async function measure(work: (round: number) => Promise<void>): Promise<Reach> {
  const rounds: Reach[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    await executedFunctions()
    await work(round)
    await sleep(SETTLE_MS)
    rounds.push(await executedFunctions())
  }
  const [first = new Set<string>(), ...others] = rounds
  return new Set([...first].filter((place) => others.every((other) => other.has(place))))
}

/** Returns the functions that ran since the last call. Offset 0 is the module itself. */
async function executedFunctions(): Promise<Reach> {
  const { result } = await profiler.post('Profiler.takePreciseCoverage')
  return new Set(
    result
      .filter(({ url }) => url.startsWith(SOURCE))
      .flatMap(({ url, functions }) =>
        functions
          .map(({ ranges: [range] }) => range)
          .filter((range) => range !== undefined && range.count > 0 && range.startOffset > 0)
          .map((range) => `${url.slice(SOURCE.length)} ${range?.startOffset}`),
      ),
  )
}
