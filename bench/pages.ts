/**
 * Open pages of one company, each as the console keeps it: a live stream, and after `ready` and `reset` the list, the unread
 * conversations and the numbers again. Usage: node bench/pages.ts URL TOKEN COUNT. GET / answers the counts so far.
 */
import Fastify from 'fastify'
import { Agent, request } from 'undici'
import { createReread } from '../console/live/reread.ts'

const [url = '', token = '', count = ''] = process.argv.slice(2)
const options = { headers: { authorization: `Bearer ${token}` }, dispatcher: new Agent({ bodyTimeout: 0 }) }
const CONVERSATIONS = '/public/v1/whatsapp/conversations?status=open&pageSize=50'
const LISTS = [CONVERSATIONS, `${CONVERSATIONS}&unread=true`, '/public/v1/templates/whatsapp/senders?pageSize=100']
/** `failed`: streams that ended, and reads that were not answered 200. */
const report = { events: 0, resets: 0, reads: 0, failed: 0 }
export type PagesReport = typeof report

await Promise.all(Array.from({ length: Number(count) }, openPage))
const app = Fastify().get('/', async () => report)
console.log(JSON.stringify({ url: await app.listen({ port: 0, host: '127.0.0.1' }) }))
process.on('SIGTERM', () => process.exit(0))

/** Resolves when the stream is ready and the lists are read. */
async function openPage(): Promise<void> {
  const { statusCode, body } = await request(`${url}/public/v1/events`, options)
  if (statusCode !== 200) throw new Error(`A stream was answered ${statusCode}`)
  body.on('close', () => {
    report.failed += 1
  })
  const { promise: isRead, resolve, reject } = Promise.withResolvers<void>()
  const reread = createReread(() => Promise.all(LISTS.map(readList)).then(() => resolve(), reject))
  body.on('data', (chunk: Buffer) => {
    const text = chunk.toString('latin1')
    report.events += text.split('event: ').length - 1
    report.resets += text.split('event: reset').length - 1
    if (/event: (?:ready|reset)/.test(text)) reread()
  })
  await isRead
}

async function readList(list: string): Promise<void> {
  const { statusCode, body } = await request(`${url}${list}`, options)
  await body.dump({ limit: 10_000_000 })
  report.reads += 1
  if (statusCode !== 200) report.failed += 1
}
