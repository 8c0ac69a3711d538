/**
 * The program of a process that calls the service as a healthy company does: one call is due every 15 ms, whether or not those
 * before were answered. A call's time is from when it was due, so that a service or a machine that stands still is measured.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from './client.ts'
import { startDiskProbe } from './disk-probe.ts'
import { type HealthyReport, type HealthyTask, INTERVAL_MS } from './healthy.ts'

const CONNECTIONS = 8
const CONTACTS = 50
const { url, token, localAddress, probeFile }: HealthyTask = JSON.parse(process.argv[2] ?? '')
const client = createClient(url, localAddress, CONNECTIONS)
const headers = { authorization: `Bearer ${token}` }
const CALLS = [
  () => ({ method: 'get', path: '/public/v1/whatsapp/conversations', headers }),
  (n: number) => ({
    method: 'post',
    path: '/public/v1/contacts',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ email: `healthy${n % CONTACTS}@example.com`, firstName: 'Ada' }),
  }),
]

const disk = await startDiskProbe(probeFile)
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
  const request = CALLS[n % CALLS.length]?.(n)
  if (request === undefined) return
  const answer = await client.send(request).catch((error: Error) => error)
  if (answer instanceof Error) report.refused.push(`${request.path}: ${answer.message}`)
  else if (answer.status >= 400) report.refused.push(`${request.path}: ${answer.status} ${answer.text.slice(0, 100)}`)
  else report.ms.push(performance.now() - dueAt)
}
