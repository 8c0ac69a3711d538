import { beforeAll, expect, test } from 'vitest'
import { MARKETING, startPeople } from '../people/people-world.ts'
import { eventually, uniquePhone } from '../service.ts'
import { startLoggedServer } from '../statement-log.ts'

/** Statements that lock customers. */
const CUSTOMER_LOCK = /\b(lock_customers|try_lock_contacts)\(/
/** Statements that wait for rows that another transaction has locked. */
const ROW_LOCK = /\bfor (no key update|update|key share|share)\b(?! (of \w+ )?(skip locked|nowait))/

const NOTICE = { type: 'template', template: { name: 'shipping_notice' } }

/** The statements that each journey ran in committed transactions, by its name. */
const journeys = new Map<string, string[][]>()
let companyTables: RegExp

beforeAll(async () => {
  const log = await startLoggedServer()
  const { service, createShop } = await startPeople({ templateUrl: log.url })
  const { db } = service
  const tables = await db<{ name: string }[]>`
    select relname as name from pg_class
    where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace
      and exists (select from pg_attribute where attrelid = pg_class.oid and attname = 'company_id')
  `
  companyTables = new RegExp(`\\b(?:from|join) (${tables.map(({ name }) => name).join('|')})\\b`, 'g')
  const shop = await createShop({})
  const { api, events, report, key } = shop

  const from = uniquePhone()
  const record = async (name: string, work: () => Promise<unknown>) => {
    const before = (await log.transactions(db)).length
    await work()
    journeys.set(name, (await log.transactions(db)).slice(before))
  }
  const ok = async (answer: Promise<{ status: number; text: string }>) => {
    const { status, text } = await answer
    if (status >= 300) throw new Error(`${status} ${text}`)
  }
  await record('send to a new customer', () => ok(shop.send(from, NOTICE)))
  await record('send to a known customer', () => ok(shop.send(from, MARKETING)))
  await record('inbound message', () => report(events.message({ phone: from }, 'Hi')))
  const { chatId } = await shop.inbox.find(from)
  await record('reply', () => ok(shop.reply(chatId)))
  await record('number change', () =>
    report(events.numberChanged({ phone: from }, { phone: uniquePhone() }, { namesIds: false })),
  )
  await record('contact', () => ok(api('POST', '/contacts', { phone: `+${from}`, email: 'ada@example.com' })))
  await record('consent', () =>
    ok(api('POST', '/contacts', { phone: `+${from}`, marketingConsent: { whatsapp: true } })),
  )
  const many = Array.from({ length: 30 }, () => ({ phone: `+${uniquePhone()}`, firstName: 'Ada' }))
  await record('array of contacts', () => ok(api('POST', '/contacts', [...many, { phone: `+${from}` }])))
  await record('import', async () => {
    const headers = { authorization: `Bearer ${key.token}`, 'content-type': 'text/csv' }
    const list = `phone,first_name\n${many.map(({ phone }) => `${phone},Grace`).join('\n')}\n`
    const taken = await service.call(service.url, 'POST', '/public/v1/contacts/import', list, headers)
    const path = `/contacts/imports/${taken.body.data.id}`
    await eventually(async () => (await api('GET', path)).body.data.status === 'completed')
  })
  await record('scheduled message', async () => {
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    const { id } = (await api('POST', '/templates/whatsapp/send', { recipient: from, ...NOTICE, sendAt })).body.data
    const { companyId } = shop
    await db`update scheduled_messages set send_at = now() where (company_id, id) = (${companyId}::bigint, ${id}::bigint)`
    await db`update jobs set due_at = now() where (company_id, subject_id, kind) = (${companyId}::bigint, ${id}::bigint, 'message.send')`
    await eventually(async () => (await api('GET', `/whatsapp/scheduled-messages/${id}`)).body.data.status === 'sent')
  })
  const { data: contacts } = (await api('GET', '/contacts?limit=100')).body
  const { id } = contacts.find(({ email }: { email: string | null }) => email === 'ada@example.com')
  await record('erasure', () => ok(api('DELETE', `/contacts/${id}?erase=true`)))
}, 300_000)

const JOURNEYS = [
  'send to a new customer',
  'send to a known customer',
  'inbound message',
  'reply',
  'number change',
  'contact',
  'consent',
  'array of contacts',
  'import',
  'scheduled message',
  'erasure',
]

const tablesIn = (text: string): string[] => [...text.matchAll(companyTables)].map(([, table = '']) => table)

/** Statements in front of a transaction's first lock on customers that read tables which none behind it reads. */
function readTooEarly(transaction: readonly string[]): string[] {
  const place = transaction.findIndex((text) => CUSTOMER_LOCK.test(text))
  const readBehind = new Set(transaction.slice(place + 1).flatMap(tablesIn))
  return transaction
    .slice(0, place)
    .filter((text) => !ROW_LOCK.test(text) && tablesIn(text).some((table) => !readBehind.has(table)))
}

test.each(JOURNEYS)('%s: reads its facts behind the lock of its customer', (name) => {
  const locking = (journeys.get(name) ?? []).filter((transaction) =>
    transaction.some((text) => CUSTOMER_LOCK.test(text)),
  )
  expect(locking.length).toBeGreaterThan(0)
  expect(locking.flatMap(readTooEarly)).toEqual([])
})
