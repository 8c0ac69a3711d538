/**
 * Open pages of one company, each as the console keeps it: a live stream, and after `ready` and `reset` the list and the
 * unread conversations again. Usage: node bench/pages.ts URL TOKEN COUNT. GET / answers the counts so far.
 */
import { createServer } from 'node:http'
import { Agent, request } from 'undici'
import { createReread } from '../console/reread.ts'

export type PagesReport = { pages: number; events: number; reads: number; megabytes: number; failed: number }

const [url = '', token = '', count = '100'] = process.argv.slice(2)
const options = { headers: { authorization: `Bearer ${token}` }, dispatcher: new Agent({ bodyTimeout: 0 }) }
const LISTS = ['status=open&pageSize=50', 'status=open&unread=true&pageSize=50']
const report: PagesReport = { pages: 0, events: 0, reads: 0, megabytes: 0, failed: 0 }

await Promise.all(Array.from({ length: Number(count) }, openPage))
const server = createServer((_, response) => response.end(JSON.stringify(report)))
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }))
})
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
  const reread = createReread(() => readLists().then(resolve, reject))
  answer.body.on('data', (chunk: Buffer) => {
    report.megabytes += chunk.length / 1e6
    const text = chunk.toString('latin1')
    report.events += text.split('event: ').length - 1
    if (/event: (?:ready|reset)/.test(text)) reread()
  })
  await isRead
}

async function readLists(): Promise<void> {
  for (const list of LISTS) {
    const { statusCode, body } = await request(`${url}/public/v1/whatsapp/conversations?${list}`, options)
    await body.dump({ limit: 10_000_000 })
    report.reads += 1
    if (statusCode !== 200) report.failed += 1
  }
}
