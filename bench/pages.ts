/**
 * Open pages of one company, each as the console keeps it: a live stream, and after `ready` and `reset` the list, the unread
 * conversations and the numbers again, twice more when the service is overloaded. Usage: node bench/pages.ts URL TOKEN COUNT.
 * GET / answers the counts so far.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import { Agent, request } from 'undici'
import { createReread } from '../console/reread.ts'

export type PagesReport = {
  pages: number
  events: number
  resets: number
  reads: number
  /** Reads that were answered 5xx, and repeated. */
  refused: number
  megabytes: number
  /** Streams that ended, and reads that failed, with the latest status. */
  failed: number
  status: number
}

const [url = '', token = '', count = '100'] = process.argv.slice(2)
const options = { headers: { authorization: `Bearer ${token}` }, dispatcher: new Agent({ bodyTimeout: 0 }) }
const CONVERSATIONS = '/public/v1/whatsapp/conversations?status=open&pageSize=50'
const SENDERS = '/public/v1/templates/whatsapp/senders?pageSize=100'
const LISTS = [CONVERSATIONS, `${CONVERSATIONS}&unread=true`, SENDERS]
/** As in console/queries.ts. */
const RETRIES = 2
const RETRY_MS = 1_000
const report: PagesReport = {
  pages: 0,
  events: 0,
  resets: 0,
  reads: 0,
  refused: 0,
  megabytes: 0,
  failed: 0,
  status: 200,
}

await Promise.all(Array.from({ length: Number(count) }, openPage))
const app = Fastify().get('/', async () => report)
console.log(JSON.stringify({ url: await app.listen({ port: 0, host: '127.0.0.1' }) }))
process.on('SIGTERM', () => process.exit(0))

/** Resolves when the stream is ready and the lists are read. */
async function openPage(): Promise<void> {
  const answer = await request(`${url}/public/v1/events`, options)
  if (answer.statusCode !== 200) throw new Error(`A stream was answered ${answer.statusCode}`)
  report.pages += 1
  answer.body.on('close', () => {
    report.failed += 1
  })
  const { promise: isRead, resolve, reject } = Promise.withResolvers<void>()
  const reread = createReread(() => Promise.all(LISTS.map(readList)).then(() => resolve(), reject))
  answer.body.on('data', (chunk: Buffer) => {
    report.megabytes += chunk.length / 1e6
    const text = chunk.toString('latin1')
    report.events += text.split('event: ').length - 1
    report.resets += text.split('event: reset').length - 1
    if (/event: (?:ready|reset)/.test(text)) reread()
  })
  await isRead
}

async function readList(list: string): Promise<void> {
  for (let attempt = 0; attempt <= RETRIES; attempt += 1) {
    const { statusCode, body } = await request(`${url}${list}`, options)
    await body.dump({ limit: 10_000_000 })
    report.reads += 1
    if (statusCode === 200) return
    report.status = statusCode
    if (statusCode < 500) break
    report.refused += 1
    await sleep(RETRY_MS * 2 ** attempt)
  }
  report.failed += 1
}
