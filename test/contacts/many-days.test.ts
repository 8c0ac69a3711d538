import { describe, expect, test } from 'vitest'
import { sql } from '../../src/db/connect.ts'
import { MAIL, startMailing, uniqueAddress } from '../emails/email-world.ts'
import { expireAll } from '../lifetimes.ts'
import { inboxOf, providerOf, secondsNow, textFrom } from '../provider-webhook.ts'
import { eventually, uniquePhone } from '../service.ts'

const service = await startMailing({ messageDays: 8, emailDays: 30 }, { mirrors: false })
const { createCompany, operator, call, url, db, deps, untilCompleted, get } = service
const provider = providerOf(service)

const readTables = () => db<{ name: string; comment: string | null }[]>`
  select relname as name, obj_description(oid, 'pg_class') as comment
  from pg_class
  where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
  order by relname
`

/** Moves all times of all tables into the past, and messages into the months of their times. */
async function pass(days: number): Promise<void> {
  const columns = await db<{ table: string; name: string }[]>`
    select attrelid::regclass::text as table, attname as name
    from pg_attribute
    join pg_class on pg_class.oid = attrelid
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and atttypid = 'timestamptz'::regtype and attgenerated = ''
  `
  for (const { table, name } of columns) {
    await db`update ${db(table)} set ${db(name)} = ${db(name)} - make_interval(days => ${days}) where ${db(name)} is not null`
  }
  await db`
    select make_message_month(month)
    from (select distinct (message_id_floor(created_at) / 1000000000000)::integer as month from messages) as present
  `
  for (const table of ['media', 'message_status_events'])
    await db`
      update ${db(table)} as own
      set message_id = message_id_floor(message.created_at) + message.id % 1000000000000
      from messages message
      where (message.company_id, message.id) = (own.company_id, own.message_id)
    `
  await db`update messages set id = message_id_floor(created_at) + id % 1000000000000`
}

/** Returns the key columns of tables split among processes, except `writer`, which is random. */
const readSplitKeys = async (): Promise<Map<string, string[]>> => {
  const rows = await db<{ name: string; columns: string[] }[]>`
    select attrelid::regclass::text as name, array_agg(attname::text) filter (where attname <> 'writer') as columns
    from pg_index
    join pg_attribute on attrelid = indrelid and attnum = any (indkey)
    where indisprimary
    group by attrelid
    having 'writer' = any (array_agg(attname::text))
  `
  return new Map(rows.map(({ name, columns }) => [name, columns]))
}

const countRows = async (): Promise<Map<string, number>> => {
  const splitKeys = await readSplitKeys()
  const counts = new Map<string, number>()
  for (const { name } of await readTables()) {
    const columns = splitKeys.get(name)
    const rows =
      columns === undefined ? sql`${db(name)}` : sql`(select distinct ${db(columns)} from ${db(name)}) as split`
    const [row] = await db<{ count: number }[]>`select count(*)::integer as count from ${rows}`
    counts.set(name, row!.count)
  }
  return counts
}

type Shop = Awaited<ReturnType<typeof createShop>>

async function createShop() {
  const company = await createCompany()
  await operator('PUT', `/companies/${company.companyId}/email-settings`, { from: 'shop@example.org' })
  const key = await operator('POST', `/companies/${company.companyId}/api-keys`, {
    name: 'Key',
    permissions: ['WhatsApp', 'Transactional'],
  })
  return { ...company, authorization: `Bearer ${key.body.token}`, phone: uniquePhone(), email: uniqueAddress() }
}

/** The actions that the same customer and company repeat. */
async function live({ api, companyId, phoneNumberId, phone, email, authorization, sender }: Shop, day: number) {
  const first = textFrom(phone, `Day ${day}`)
  await provider.messages(phoneNumberId, first)
  await provider.messages(phoneNumberId, {
    ...textFrom(phone, ''),
    type: 'reaction',
    reaction: { message_id: first.id, emoji: '👍' },
  })
  await provider.messages(phoneNumberId, {
    ...textFrom(phone, ''),
    type: 'edit',
    edit: { original_message_id: first.id, message: { type: 'text', text: { body: 'Edited' } } },
  })
  const send = { type: 'text', recipient: phone, text: 'Answer' }
  const sent = await api('POST', '/templates/whatsapp/send', send, { 'idempotency-key': `day ${day}` })
  expect(sent.status).toBe(200)
  const sendAt = new Date(Date.now() + 3_600_000).toISOString()
  const later = await api('POST', '/templates/whatsapp/send', { ...send, sendAt })
  await db`update jobs set due_at = now() where kind = 'message.send' and claim_id is null`
  const scheduled = () => api('GET', `/whatsapp/scheduled-messages/${later.body.data.id}`)
  await eventually(async () => (await scheduled()).body.data.status === 'sent')
  await eventually(async () => (await db`select from jobs where kind = 'message.send'`).length === 0)
  for (const status of ['delivered', 'read']) {
    const event = { id: sent.body.data.wamid, status, recipient_id: phone, timestamp: String(secondsNow()) }
    await provider.statuses(phoneNumberId, event)
  }
  await provider.messages('100000000000000', textFrom(phone, 'Nobody is connected'))
  await api('POST', '/contacts', { email, phone, marketingConsent: { email: day % 2 === 0 } })
  const mail = await api('POST', '/emails', { ...MAIL, to: email, html: '<a href="https://shop.example/">Shop</a>' })
  await untilCompleted(api, mail.body.data.id)
  const [arrived] = (await service.received(email)).toReversed().slice(-1)
  for (const path of service.linksOf(arrived.html).clicks) await get(path)
  const list = 'email\nnot an address\n'
  const taken = await call(url, 'POST', '/public/v1/contacts/import', list, {
    authorization,
    'content-type': 'text/csv',
  })
  await eventually(
    async () => (await api('GET', `/contacts/imports/${taken.body.data.id}`)).body.data.status === 'completed',
  )
  const scope = `sender:${sender.channelId}`
  await db`
    insert into daily_limits (company_id, scope, used) values (${companyId}, ${scope}, 1)
    on conflict (company_id, scope) do update set used = 1
  `
  await db`
    insert into daily_limit_entries (company_id, scope, customer_id, message_id, counted_at)
    select ${companyId}, ${scope}, id, 0, now() from customers where company_id = ${companyId} and phone = ${phone}
    on conflict do nothing
  `
  await db`
    insert into jobs (kind, lane, subject_id, failed_at, last_error) values ('of the test', 'test', ${day}, now(), 'given up')
  `
}

describe('many days, with a compressed clock', () => {
  /** Partitioned tables are dropped by the day; the ledger of consent is kept. */
  const NOT_HERE = ['envelopes', 'deliveries', 'delivery_attempts', 'consents']
  const STEP_DAYS = 100
  const STEPS = 10

  test('leave every table as large as a few of them do', { timeout: 300_000 }, async () => {
    expect((await readSplitKeys()).get('conversation_counts')).toEqual(['company_id'])
    const shop = await createShop()
    const sizes: Map<string, number>[] = []
    for (let day = 0; day < STEPS; day += 1) {
      await live(shop, day)
      await pass(STEP_DAYS)
      await expireAll(deps)
      sizes.push(await countRows())
    }
    const [last, before] = [sizes.at(-1)!, sizes.at(-5)!]
    const grown = [...last].filter(([name, count]) => !NOT_HERE.includes(name) && count > before.get(name)!)
    expect(grown).toEqual([])
    const emptied = [
      'messages',
      'emails',
      'message_status_events',
      'idempotency_keys',
      'contact_imports',
      'daily_limit_entries',
      'scheduled_messages',
    ]
    expect(emptied.map((name) => [name, last.get(name)])).toEqual(emptied.map((name) => [name, 0]))
  })

  test('a conversation begins after its expired messages', { timeout: 300_000 }, async () => {
    const shop = await createShop()
    const say = (text: string) => provider.messages(shop.phoneNumberId, textFrom(shop.phone, text))
    for (const text of ['one', 'two', 'three']) await say(text)
    await pass(70)
    for (const text of ['four', 'five']) await say(text)
    await expireAll(deps)

    const inbox = inboxOf(shop)
    expect(await inbox.texts(shop.phone)).toEqual(['four', 'five'])
    const { chatId } = await inbox.find(shop.phone)
    const page = (query: string) => shop.api('GET', `/whatsapp/conversations/${chatId}/messages?${query}`)
    const { body } = await page('pageSize=1&page=2')
    expect(body.data).toMatchObject([{ text: 'four' }])
    expect(body.pagination).toMatchObject({ totalRecords: 2, totalPages: 2, nextPage: null })

    await pass(70)
    await expireAll(deps)
    expect((await page('pageSize=10')).body).toMatchObject({ data: [], pagination: { totalRecords: 0, totalPages: 0 } })
    expect((await inbox.find(shop.phone)).lastMessage).toBeNull()
    await say('six')
    expect(await inbox.texts(shop.phone)).toEqual(['six'])
  })
})
