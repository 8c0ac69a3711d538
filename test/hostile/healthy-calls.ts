/** The program of a worker that calls the service as a healthy company does, one call after the other, until it is stopped. */
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { createClient } from './client.ts'
import type { HealthyReport, HealthyTask } from './healthy.ts'

const PAUSE_MS = 10
const { url, token, localAddress }: HealthyTask = workerData
const client = createClient(url, localAddress, 1)
const headers = { authorization: `Bearer ${token}` }
const report: HealthyReport = { ms: [], refused: [] }
const CALLS = [
  { method: 'get', path: '/public/v1/whatsapp/conversations', headers },
  {
    method: 'post',
    path: '/public/v1/contacts',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'healthy@example.com', firstName: 'Ada' }),
  },
]

let isStopped = false
parentPort?.on('message', () => {
  isStopped = true
})
for (let n = 0; !isStopped; n++) {
  const call = CALLS[n % CALLS.length]
  if (call === undefined) break
  const answer = await client.send(call).catch((error: Error) => error)
  if (answer instanceof Error) report.refused.push(`${call.path}: ${answer.message}`)
  else if (answer.status >= 400) report.refused.push(`${call.path}: ${answer.status} ${answer.text.slice(0, 100)}`)
  else report.ms.push(answer.ms)
  await sleep(PAUSE_MS)
}
await client.close()
parentPort?.postMessage(report)
parentPort?.close()
