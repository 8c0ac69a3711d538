import { Agent, request } from 'undici'
import { createReread } from '../../console/live/reread.ts'
import { benchOf } from '../bench.ts'
import { compare } from '../compare.ts'
import { JOURNEYS, type Player } from '../journeys.ts'

const PAGES = 50
const CONVERSATIONS = '/whatsapp/conversations?status=open&pageSize=50'
const LISTS = [CONVERSATIONS, `${CONVERSATIONS}&unread=true`, '/templates/whatsapp/senders?pageSize=100']
const ingest = JOURNEYS['events handled']

/** The ingest of a company with and without open pages of its console, by turns. */
export const liveBench = benchOf(
  async (context) => {
    const stage = await context.setStage()
    return { ...context, stage, company: await stage.createCompany(8) }
  },
  {
    ingest: async (play) => {
      const options = { name: `ingest with ${PAGES} open pages`, atLeast: 0.95, halfLoad: false, rounds: 4 }
      const alone = { stage: play.stage, run: (load: object) => ingest(play, load) }
      const run = async (load: object) => {
        const pages = await openPages(play)
        const done = await ingest(play, load)
        const { events, resets, ended } = pages.report
        play.say(`the pages got ${events} events and ${resets} resets`)
        if (ended > 0 || events === 0) throw new Error(`${ended} streams ended`)
        await pages.close()
        return done
      }
      await compare(play, options, { ...alone, run }, { 'no pages': alone })
    },
  },
)

/**
 * Pages as the console keeps them: a live stream, and after `ready` and `reset` the list, the unread conversations and the numbers
 * again. Resolves when all have read.
 */
async function openPages({ stage, company }: Player) {
  const report = { events: 0, resets: 0, ended: 0 }
  const dispatcher = new Agent({ bodyTimeout: 0 })
  const get = (path: string) => request(`${stage.url}/public/v1${path}`, { headers: company.headers, dispatcher })
  const readLists = () => Promise.all(LISTS.map(async (list) => (await get(list)).body.dump({ limit: 10_000_000 })))
  const openPage = async () => {
    const { statusCode, body } = await get('/events')
    if (statusCode !== 200) throw new Error(`A stream was answered ${statusCode}`)
    const { promise: isRead, resolve, reject } = Promise.withResolvers<void>()
    const reread = createReread(() => readLists().then(() => resolve(), reject))
    body.on('data', (chunk: Buffer) => {
      const text = chunk.toString('latin1')
      report.events += text.split('event: ').length - 1
      report.resets += text.split('event: reset').length - 1
      if (/event: (?:ready|reset)/.test(text)) reread()
    })
    body.on('error', () => {}).on('close', () => (report.ended += 1))
    await isRead
  }
  await Promise.all(Array.from({ length: PAGES }, openPage))
  return { report, close: () => dispatcher.destroy() }
}
