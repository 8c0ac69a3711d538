import type { Bench, BenchContext } from './bench.ts'
import { figure, ratioFigure } from './figure.ts'
import { joinReports, type LoadReport, requireCleanReport } from './load.ts'
import { type Company, onStage, type Stage } from './stage.ts'

const SMALL = { conversations: 200, messages: 10 }
const LARGE = { conversations: 200_000, messages: 1_000_000 }
const PAGE_SIZE = 20
const ROUNDS = 5

/** Pages of conversations and messages, of a small company and of a large one, at the first and the deepest page. */
export const readBench: Bench = (context) =>
  onStage(async (stage) => {
    const small = await fillCompany(context, stage, SMALL)
    const large = await fillCompany(context, stage, LARGE)
    await stage.db`vacuum analyze`
    const pages = { small: pagesOf(small, SMALL), large: pagesOf(large, LARGE) }
    for (const list of ['conversations', 'filtered conversations', 'messages'] as const) {
      await compare(context, stage, list, { small: pages.small[list], large: pages.large[list] })
    }
  })

type Page = { path: string; headers: Record<string, string>; records: number }
type Pages = { first: Page; middle: Page; deepest: Page }
type Filled = Company & { chatId: number }

/** A filtered list has pages up to its 10,000th record. */
const MAX_FILTERED = 10_000

function pagesOf({ headers, chatId }: Filled, size: typeof SMALL) {
  const pages = (path: string, total: number, filter = ''): Pages => {
    const last = Math.ceil(total / PAGE_SIZE)
    const page = (number: number, records: number) => ({
      path: `${path}?page=${number}&pageSize=${PAGE_SIZE}${filter}`,
      headers,
      records,
    })
    const records = Math.min(total, PAGE_SIZE)
    return { first: page(1, records), middle: page(Math.ceil(last / 2), records), deepest: page(last, records) }
  }
  const base = '/public/v1/whatsapp/conversations'
  return {
    conversations: pages(base, size.conversations),
    'filtered conversations': pages(base, Math.min(size.conversations, MAX_FILTERED), '&status=open&unread=true'),
    messages: pages(`${base}/${chatId}/messages`, size.messages),
  }
}

/** All pages one after the other, in rounds, so that other load of the machine affects all alike. */
async function compare(
  { report, quick }: BenchContext,
  stage: Stage,
  list: string,
  of: { small: Pages; large: Pages },
) {
  const pages = {
    small: of.small.first,
    first: of.large.first,
    middle: of.large.middle,
    deepest: of.large.deepest,
  }
  const reports = new Map<keyof typeof pages, LoadReport[]>()
  const read = ({ path, headers, records }: Page) => {
    const mark = list === 'messages' ? 'direction' : 'chatId'
    const fits = `^\\{"data":\\[(?:[^]*?"${mark}":){${records}}(?![^]*"${mark}":)`
    return { url: stage.url, method: 'GET', path, headers, concurrency: 1, requests: quick ? 100 : 300, fits } as const
  }
  for (const page of Object.values(pages)) await stage.load.run(read(page))
  const scansBefore = await countScans(stage)
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, page] of Object.entries(pages) as [keyof typeof pages, Page][]) {
      reports.set(name, [...(reports.get(name) ?? []), await stage.load.run(read(page))])
    }
  }
  const scans = (await countScans(stage)) - scansBefore
  const figures = (name: keyof typeof pages) => {
    const joined = joinReports(reports.get(name) ?? [])
    requireCleanReport(`${list}, ${name}`, joined)
    return joined.p50Ms
  }
  const sizes = list === 'messages' ? [LARGE.messages, SMALL.messages] : [LARGE.conversations, SMALL.conversations]
  const [large, small] = sizes.map((size) => size.toLocaleString('en-US'))
  const first = { baseline: 'first page', baselineValue: figures('first') }
  const ofSmall = { baseline: `of ${small}`, baselineValue: figures('small') }
  const goal = { atMost: 1.5 }
  report(ratioFigure(`first page of ${list}, of ${large}, median`, figures('first'), 'ms', ofSmall, goal))
  report(ratioFigure(`deepest page of ${list}, of ${large}, median`, figures('deepest'), 'ms', first, goal))
  report(ratioFigure(`middle page of ${list}, of ${large}, median`, figures('middle'), 'ms', first))
  report(figure(`sequential scans while reading ${list}`, scans, 'scans', { atMost: 0 }))
}

/** PostgreSQL's counters. */
async function countScans({ db }: Stage): Promise<number> {
  // Sessions report their statistics at most once a second.
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  const [row] = await db<{ scans: number }[]>`
    select sum(seq_scan)::int as scans
    from pg_stat_user_tables
    where relname in ('conversations', 'conversation_activity', 'messages', 'contacts', 'message_reactions')
  `
  return row?.scans ?? 0
}

/** Filled by SQL: a million messages take too long by the front door, and reading does not see how they came. */
async function fillCompany({ say }: BenchContext, stage: Stage, size: typeof SMALL): Promise<Filled> {
  const company = await stage.createCompany()
  const { companyId, senders } = company
  const senderId = senders[0]?.id ?? 0
  say(`filling in ${size.conversations} conversations, ${size.messages} messages`)
  await stage.db`
    with contact as (
      insert into contacts (company_id, phone, first_name, last_name, source, source_type)
      select ${companyId}::bigint, (393310000000 + place)::text, 'Ada', 'Lovelace ' || place, 'WhatsApp', 'service'
      from generate_series(1, ${size.conversations}::integer) as place
      returning company_id, id, phone
    ),
    customer as (
      insert into customers (company_id, contact_id, phone)
      select company_id, id, phone from contact
      returning company_id, id
    ),
    conversation as (
      insert into conversations (
        company_id, sender_id, customer_id, profile_name, unread_messages, message_count, last_text,
        last_direction, last_message_at, last_inbound_at
      )
      select
        customer.company_id, ${senderId}, customer.id, 'Ada', 1, 0, 'Is my order ready?',
        'inbound', now() - customer.id * interval '1 second', now() - customer.id * interval '1 second'
      from customer
      returning company_id, id, last_message_at
    )
    insert into conversation_activity (company_id, conversation_id, active_at, sender_id, is_unread)
    select company_id, id, last_message_at, ${senderId}, true from conversation
  `
  await stage.db`insert into conversation_counts (company_id, total) values (${companyId}, ${size.conversations})`
  const [conversation] = await stage.db<{ id: number }[]>`
    update conversations
    set message_count = ${size.messages}
    where (company_id, id) = (select company_id, min(id) from conversations where company_id = ${companyId} group by 1)
    returning id
  `
  const chatId = conversation?.id ?? 0
  await stage.db`
    insert into messages (company_id, conversation_id, seq, direction, type, text, status, wamid, sent_at)
    select
      ${companyId}, ${chatId}, place, 'inbound', 'text', 'Is my order ' || place || ' ready?', 'received',
      'wamid.' || ${companyId}::text || '.' || place, now() - (${size.messages}::integer - place) * interval '1 second'
    from generate_series(1, ${size.messages}::integer) as place
  `
  await stage.db`
    insert into message_reactions (company_id, wamid, target_wamid, emoji, occurred_at)
    select company_id, 'wamid.reaction.' || id, wamid, '👍', now()
    from messages
    where company_id = ${companyId} and seq % 5 = 0
  `
  return { ...company, chatId }
}
