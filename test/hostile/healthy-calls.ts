/**
 * The program of a process that calls the service as a healthy company does: one call is due every 25 ms, whether or not those
 * before were answered. A call's time is from when it was due, so that a service or a machine that stands still is measured.
 */
import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, type Client, createClient, patient, type Request } from './client.ts'
import { startDiskProbe } from './disk-probe.ts'
import { type HealthyReport, type HealthyTask, INTERVAL_MS } from './healthy.ts'
import { inboundText } from './world.ts'

const CONNECTIONS = 8
const PEOPLE = 50
const task: HealthyTask = JSON.parse(process.argv[2] ?? '')
const connect = (address: string, connections = CONNECTIONS): Client => {
  const client = createClient(task.url, address, connections)
  return task.isPatient ? patient(client) : client
}
const server = connect(task.serverAddress)
const provider = connect(task.providerAddress)
const headers = { authorization: task.authorization }
const json = { 'content-type': 'application/json' }

/** Calls take turns. `send`: over a kept connection, unless it says otherwise; `status`: of the answer. */
type Call = { status: number; request: (n: number) => Request; send: (request: Request) => Promise<Answer> }
const post = (path: string, body: object): Request => ({
  method: 'post',
  path: `/public/v1${path}`,
  headers: { ...headers, ...json },
  body: JSON.stringify(body),
})
const get = (path: string): Request => ({ method: 'get', path: `/public/v1${path}`, headers })
const CALLS: readonly Call[] = [
  { status: 200, request: () => get('/whatsapp/conversations'), send: server.send },
  {
    status: 200,
    request: (n) => post('/contacts', { email: `healthy${n % PEOPLE}@example.com`, firstName: 'Ada' }),
    send: server.send,
  },
  {
    // Nobody there has written.
    status: 422,
    request: (n) => post('/templates/whatsapp/send', { recipient: phoneOf(n, 8), type: 'text', text: 'Hello' }),
    send: server.send,
  },
  { status: 200, request: signedEvent, send: provider.send },
  { status: 200, request: () => get('/me'), send: sendOverNewConnection },
]

function phoneOf(n: number, series: number): string {
  return `39333${series}${String(n % PEOPLE).padStart(6, '0')}`
}

function signedEvent(n: number): Request {
  const wamid = `wamid.${crypto.randomUUID()}`
  const body = JSON.stringify(inboundText(task.phoneNumberId, phoneOf(n, 7), 'healthy', wamid))
  const signature = `sha256=${createHmac('sha256', task.secret).update(body).digest('hex')}`
  const signed = { ...json, 'x-hub-signature-256': signature }
  return { method: 'post', path: '/public/v1/webhooks/whatsapp', headers: signed, body }
}

async function sendOverNewConnection(request: Request): Promise<Answer> {
  const client = connect(task.serverAddress, 1)
  try {
    return await client.send(request)
  } finally {
    await client.close()
  }
}

const disk = await startDiskProbe(task.probeFile)
let isMeasuring = false
process.on('message', (message: 'start' | 'stop') => {
  isMeasuring = message === 'start'
  if (isMeasuring) void measure()
})
process.once('disconnect', () => process.exit())

async function measure(): Promise<void> {
  const report: HealthyReport = { ms: [], refused: [], disk: 0 }
  disk.stalledMs()
  const calls: Promise<void>[] = []
  const startedAt = performance.now()
  for (let n = 0; isMeasuring; n++) {
    const dueAt = startedAt + n * INTERVAL_MS
    await sleep(Math.max(0, dueAt - performance.now()))
    if (isMeasuring) calls.push(call(n, dueAt, report))
  }
  await Promise.all(calls)
  process.send?.({ ...report, disk: disk.stalledMs() })
}

async function call(n: number, dueAt: number, report: HealthyReport): Promise<void> {
  const one = CALLS[n % CALLS.length]
  if (one === undefined) return
  const request = one.request(n)
  const answer = await one.send(request).catch((error: Error) => error)
  if (answer instanceof Error) report.refused.push(`${request.path}: ${answer.message}`)
  else if (answer.status !== one.status)
    report.refused.push(`${request.path}: ${answer.status} ${answer.text.slice(0, 100)}`)
  else report.ms.push(performance.now() - dueAt)
}
