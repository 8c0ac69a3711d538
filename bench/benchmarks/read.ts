import { type Bench, type BenchContext, benchOf } from '../bench.ts'
import { check, ratioFigure } from '../figure.ts'
import { mediansByTurns } from '../load.ts'
import { type Company, countScans, type Stage } from '../stage.ts'

const SMALL = { conversations: 200, messages: 10 }
const LARGE = { conversations: 200_000, messages: 1_000_000 }
const PAGE_SIZE = 20
/** A filtered list has pages up to its 10,000th record. */
const MAX_FILTERED = 10_000
const CONVERSATIONS = '/public/v1/whatsapp/conversations'

type Filled = Company & { chatId: number }
type Play = { context: BenchContext; stage: Stage; small: Filled; large: Filled }

/** Pages of conversations and messages, of a small company and of a large one, at the first and the deepest page. */
export const readBench: Bench = benchOf(
  async (context, stage) => {
    const small = await fillCompany(context, stage, SMALL)
    const large = await fillCompany(context, stage, LARGE)
    await stage.db`vacuum analyze`
    return { context, stage, small, large }
  },
  {
    conversations: (play) => compare(play, 'conversations', (size) => size.conversations),
    'filtered conversations': (play) =>
      compare(play, 'filtered conversations', (size) => Math.min(size.conversations, MAX_FILTERED)),
    messages: (play) => compare(play, 'messages', (size) => size.messages),
  },
)

/** The first page of the large company compared with that of the small one, and its deepest page with its first. */
async function compare(play: Play, list: string, totalOf: (size: typeof SMALL) => number): Promise<void> {
  const { context, stage, small, large } = play
  const scans = await countScans(stage)
  const ms = await mediansByTurns(stage.load, {
    small: orderOf(play, list, small, 1, Math.min(PAGE_SIZE, totalOf(SMALL))),
    first: orderOf(play, list, large, 1, PAGE_SIZE),
    deepest: orderOf(play, list, large, Math.ceil(totalOf(LARGE) / PAGE_SIZE), PAGE_SIZE),
  })
  const first = { baseline: 'first page', baselineValue: ms.first }
  const ofSmall = { baseline: `of ${totalOf(SMALL)}`, baselineValue: ms.small }
  const what = `page of ${totalOf(LARGE).toLocaleString('en-US')} ${list}, median`
  context.report(ratioFigure(`first ${what}`, ms.first, 'ms', ofSmall, { atMost: 1.5 }))
  context.report(ratioFigure(`deepest ${what}`, ms.deepest, 'ms', first, { atMost: 1.5 }))
  context.report(check(`sequential scans while reading ${list}`, (await countScans(stage)) - scans, 'scans'))
}

function orderOf({ context, stage }: Play, list: string, company: Filled, page: number, records: number) {
  const isMessages = list === 'messages'
  const base = isMessages ? `${CONVERSATIONS}/${company.chatId}/messages` : CONVERSATIONS
  const filter = list === 'filtered conversations' ? '&status=open&unread=true' : ''
  const mark = isMessages ? 'direction' : 'chatId'
  return {
    url: stage.url,
    path: `${base}?page=${page}&pageSize=${PAGE_SIZE}${filter}`,
    headers: company.headers,
    fits: `^\\{"data":\\[(?:[^]*?"${mark}":){${records}}(?![^]*"${mark}":)`,
    concurrency: 1,
    requests: context.quick ? 100 : 300,
  }
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
