import { type CursorPosition, encodeCursor } from '../../src/http/paging/cursor.ts'
import { benchOf, type Context } from '../bench.ts'
import { mediansByTurns } from '../by-turns.ts'
import { check } from '../figure.ts'
import type { LoadOrder } from '../load.ts'
import { type Stage, statisticsOf } from '../stage.ts'
import { type Filled, fillCompany, type Size } from './fill.ts'

const SMALL: Size = { messages: 4_000, contacts: 400, conversations: 191, deliveries: 3_000 }
const LARGE: Size = { messages: 1_000_000, contacts: 200_000, conversations: 190_001, deliveries: 60_000 }
const QUICK: Size = { messages: 200_000, contacts: 40_000, conversations: 38_001, deliveries: 30_000 }
/** What a page may cost in a large company, compared with a small one, and a deep page compared with the first. */
const GOAL = 1.5
const PAGE_SIZE = 20
/** A filtered list has pages up to its 10,000th record. */
const MAX_FILTERED = 10_000

/** A list that is read page by page: its path with the size of a page, what each of its records has once, and the deepest page. */
export type List = { path: string; mark: string; deepest?: string; records?: number }
export type Reader = { stage: Stage; headers: Record<string, string>; lists: Record<string, List> }

type Play = Context & Record<'small' | 'large', Reader>

/** Pages of a small company and of a large one, each on a database of its own. */
export const readBench = benchOf<Play>(
  async (context) => {
    const fill = async (size: Size): Promise<Reader> => {
      const stage = await context.setStage({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
      return readerOf(stage, await fillCompany(stage, 'http://127.0.0.1:9', size, context.say))
    }
    return { ...context, small: await fill(SMALL), large: await fill(context.quick ? QUICK : LARGE) }
  },
  { pages: (play) => comparePages(play, play.large, play.small) },
)

/** The lists of a company that was filled by SQL. */
export async function readerOf(stage: Stage, company: Filled): Promise<Reader> {
  const { chatId, registrationId, headers, messages, size } = company
  const conversations = `/whatsapp/conversations?pageSize=${PAGE_SIZE}`
  const contacts = `/contacts?limit=${PAGE_SIZE}`
  const pageAt = (records: number) => `&page=${Math.floor(records / PAGE_SIZE)}`
  const filtered = pageAt(Math.min(size.conversations, MAX_FILTERED))
  const lists = {
    conversations: { path: conversations, mark: 'chatId', deepest: pageAt(size.conversations) },
    'filtered conversations': { path: `${conversations}&status=open`, mark: 'chatId', deepest: filtered },
    messages: {
      path: `/whatsapp/conversations/${chatId}/messages?pageSize=${PAGE_SIZE}`,
      mark: 'direction',
      deepest: pageAt(messages),
    },
    contacts: {
      path: contacts,
      mark: 'first_name',
      deepest: `&before=${await cursorAt(stage, company.companyId, '')}`,
    },
    'contacts by phone': { path: `${contacts}&search=%2B39331000007`, mark: 'first_name', records: 10 },
    'delivery log': { path: `/webhooks/registrations/${registrationId}/logs?limit=${PAGE_SIZE}`, mark: 'deliveryId' },
  }
  return { stage, headers, lists }
}

/**
 * Pages by turns: the first of the large company compared with that of the small one, and its deepest with its first. The
 * figures are those of the list whose ratio is the worst. Returns the medians by list and page, in ms.
 */
export async function comparePages({ report, say, quick }: Context, large: Reader, small?: Reader) {
  const ms: Record<string, Record<string, number>> = {}
  const order = ({ stage: { url }, headers }: Reader, { path, mark, records = PAGE_SIZE }: List, page = '') => ({
    ...{ url, path: `/public/v1${path}${page}`, headers, concurrency: 1, requests: quick ? 30 : 80 },
    fits: `^(?:[^]*?"${mark}":){${records}}(?![^]*"${mark}":)`,
  })
  const scans = await countScans(large.stage)
  for (const [name, list] of Object.entries(large.lists)) {
    const orders: Record<string, LoadOrder> = { first: order(large, list) }
    if (list.deepest !== undefined) orders.deepest = order(large, list, list.deepest)
    const ofSmall = small?.lists[name]
    if (small !== undefined && ofSmall !== undefined) orders.small = order(small, ofSmall)
    const medians = await mediansByTurns(large.stage.load, orders)
    ms[name] = medians
    say(
      `${name}: ${Object.entries(medians)
        .map(([page, one]) => `${page} ${one.toFixed(2)}`)
        .join(', ')} ms`,
    )
  }
  for (const [page, other] of [
    ['first', 'small'],
    ['deepest', 'first'],
  ] as const) {
    const all = Object.entries(ms)
      .map(([name, one]) => ({ name, value: one[page] ?? Number.NaN, than: one[other] ?? Number.NaN }))
      .filter(({ value, than }) => value / than > 0)
      .toSorted((a, b) => b.value / b.than - a.value / a.than)
    const [worst] = all
    const reason = all.map(({ name, value, than }) => `${name} ${(value / than).toFixed(2)}`).join(', ')
    if (worst !== undefined) {
      const { name, value } = worst
      report({
        name: `${page} page, ${name}`,
        value,
        unit: 'ms',
        than: { [`its ${other}`]: worst.than },
        atMost: GOAL,
        reason,
      })
    }
  }
  report(check('sequential scans while reading pages', (await countScans(large.stage)) - scans))
  return ms
}

/** A cursor at the 31st oldest contact that holds a text. */
export async function cursorAt({ db }: Stage, companyId: number, text: string): Promise<string> {
  const [place] = await db<[CursorPosition]>`
    select (extract(epoch from created_at) * 1000000)::bigint as value, id
    from contacts
    where company_id = ${companyId} and strpos(search_text, ${text}) > 0
    order by created_at, id
    offset 30
    limit 1
  `
  return encodeCursor('created_at', place)
}

/** PostgreSQL's own count of sequential scans of the tables that grow with a company. */
const countScans = async (stage: Stage): Promise<number> =>
  (
    await statisticsOf<{ scans: number }>(
      stage,
      `select sum(seq_scan)::int as scans from pg_stat_user_tables
       where relname ~ '^(conversations|conversation_activity|messages.*|contacts|message_reactions)$'`,
    )
  ).scans
