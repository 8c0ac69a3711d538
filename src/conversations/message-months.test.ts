import { cpSync, readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { ALL } from '../../test/lifetimes.ts'
import { MIGRATIONS } from '../../test/schema/baseline.ts'
import { createTwins } from '../../test/twins.ts'
import type { Pool } from '../db/connect.ts'
import { listCompaniesWith } from '../db/lifetime-store.ts'
import { migrate } from '../db/migration/migrate.ts'
import { expireMonths } from '../personal-data/lifetimes/expire-messages.ts'
import { mediaAfter } from '../personal-data/lifetimes/expire-rows.ts'
import { findConversation, listMessages } from './conversation-store.ts'
import { dropMessageMonth, findExpiredMonth, makeMessageMonth, makeMessageMonths } from './message-expiry-store.ts'
import { findKnownWamids, IDS_A_MONTH, monthOf, monthOfId } from './message-store.ts'

const { db } = await createTestDatabase()
const [clock] = await db<[{ now: Date }]>`select now() as now`
const PRESENT = monthOf(clock.now)
const KEEP_DAYS = 8
const media = mediaAfter(KEEP_DAYS)
const signal = new AbortController().signal

const partitions = async (): Promise<string[]> => {
  const rows = await db<{ name: string }[]>`
    select inhrelid::regclass::text as name from pg_inherits where inhparent = 'messages'::regclass order by name
  `
  return rows.map(({ name }) => name)
}
const nameOf = (month: number): string =>
  `messages_${new Date(Date.UTC(1970, month)).toISOString().slice(0, 7).replace('-', '')}`

/** Two companies with a conversation of the same id. */
const createCompanies = () =>
  createTwins(db, {
    contacts: [[1, '39333', '39333']],
    customers: [[1, 1, '39333']],
    identities: [['39333', 1]],
    conversations: [[1, 1, 'open']],
  })

/** Messages of a conversation, of one month each, and the counts of the conversation. */
async function writeMessages(companyId: number, months: readonly number[]): Promise<number[]> {
  const ids = months.map((month, place) => month * IDS_A_MONTH + place + 1)
  for (const month of new Set(months)) if (month > 0) await makeMessageMonth(db, month)
  for (const [place, id] of ids.entries()) {
    await db`
      insert into messages (company_id, id, conversation_id, seq, direction, type, text, status, wamid)
      values (${companyId}, ${id}, 1, ${place + 1}, 'inbound', 'text', ${`text ${place + 1}`}, 'received', ${`w${place + 1}`})
    `
  }
  await db`
    update conversations
    set
      message_count = ${ids.length}, last_text = ${`text ${ids.length}`}, last_direction = 'inbound', last_message_at = now(),
      created_at = now() - interval '10 years'
    where company_id = ${companyId}
  `
  return ids
}

const countsOf = (companyId: number) => db`
  select message_count, expired_count, last_text from conversations where company_id = ${companyId}
`

const expire = () => expireMonths(db, { messageDays: KEEP_DAYS, deliveryLogDays: 30 }, signal)

beforeAll(() => makeMessageMonths(db))

test('the partitions of this month and the next two are made once', async () => {
  await db.unsafe(`drop table ${nameOf(PRESENT + 2)}`)
  await makeMessageMonths(db)
  await makeMessageMonths(db)
  for (const month of [PRESENT, PRESENT + 1, PRESENT + 2]) expect(await partitions()).toContain(nameOf(month))
})

test('an id has the month of its creation, and grows', async () => {
  const [row] = await db<[{ ids: number[] }]>`
    select array(select next_message_id() from generate_series(1, 3)) as ids
  `
  expect(row.ids.map(monthOfId)).toEqual([PRESENT, PRESENT, PRESENT])
  expect(row.ids.toSorted((a, b) => a - b)).toEqual(row.ids)
  const [year] = await db<[{ first: number }]>`select message_id_floor('2027-01-01T00:30:00+01:00') as first`
  expect(monthOfId(year.first)).toBe(monthOf(new Date('2026-12-31T23:30:00Z')))
})

test('a month that is over for as long as messages are kept goes, with the texts and counts of its conversations', async () => {
  const { companyId, twinId } = await createCompanies()
  await writeMessages(companyId, [PRESENT - 3, PRESENT - 3, PRESENT])
  await writeMessages(twinId, [PRESENT - 3, PRESENT - 3])
  await expire()
  expect(await partitions()).not.toContain(nameOf(PRESENT - 3))
  expect(await countsOf(companyId)).toEqual([{ messageCount: 3, expiredCount: 2, lastText: 'text 3' }])
  expect(await countsOf(twinId)).toEqual([{ messageCount: 2, expiredCount: 2, lastText: null }])
  expect(await db`select seq from messages where company_id in (${companyId}, ${twinId})`).toEqual([{ seq: 3 }])
})

test('a month stays until its last message is as old as messages are kept', async () => {
  await makeMessageMonth(db, PRESENT - 1)
  const [row] = await db<[{ days: number }]>`
    select ceil(extract(epoch from now() - date_trunc('month', now(), 'UTC')) / 86400)::integer as days
  `
  expect(await findExpiredMonth(db, row.days)).toBeUndefined()
  expect(await findExpiredMonth(db, row.days - 1)).toBe(row.days > 1 ? PRESENT - 1 : undefined)
  expect(await dropMessageMonth(db, PRESENT - 1, Math.max(row.days, KEEP_DAYS))).toBe(false)
  expect(await dropMessageMonth(db, PRESENT, KEEP_DAYS)).toBe(false)
})

test('a walk goes over all conversations of a month, some at a time', async () => {
  const { companyId, twinId } = await createCompanies()
  const count = 1_234
  await makeMessageMonth(db, PRESENT - 5)
  for (const id of [companyId, twinId]) {
    await db`
      with customer as (
        insert into customers (company_id, id, contact_id)
        select ${id}, 1000 + n, 1 from generate_series(1, ${count}::integer) as n
        returning company_id, id
      ),
      conversation as (
        insert into conversations (company_id, id, sender_id, customer_id, message_count)
        overriding system value
        select company_id, id, 1, id, 2 from customer
        returning company_id, id
      )
      insert into messages (company_id, id, conversation_id, seq, direction, type, status)
      select company_id, ${(PRESENT - 5) * IDS_A_MONTH}::bigint + id * 10 + seq, id, seq, 'inbound', 'text', 'received'
      from conversation
      cross join generate_series(1, 2) as seq
    `
  }
  await expire()
  const counts = await db`
    select expired_count, count(*)::integer as conversations
    from conversations
    where company_id in (${companyId}, ${twinId}) and id > 1
    group by 1
  `
  expect(counts).toEqual([{ expiredCount: 2, conversations: 2 * count }])
})

test('files of an expired month are discarded, and uploads that they carried are due', async () => {
  const { companyId } = await createCompanies()
  const [old = 0, present = 0] = await writeMessages(companyId, [PRESENT - 4, PRESENT])
  await db`
    insert into uploads (company_id, id, storage_key, mime_type, size_bytes, sha256)
    values (${companyId}, 'med_1', 'upload', 'image/png', 1, '')
  `
  for (const [id, key, upload] of [[old, 'old file', 'med_1'] as const, [present, 'present file', null] as const])
    await db`
      insert into media (company_id, message_id, sender_id, provider_media_id, storage_key, upload_id)
      values (${companyId}, ${id}, 1, 'media', ${key}, ${upload})
    `
  expect(await listCompaniesWith(db, media.isDue, 100)).toEqual([companyId])
  expect(await media.expire(db, companyId, ALL)).toBe(1)
  expect(await listCompaniesWith(db, media.isDue, 100)).toEqual([])
  expect(await db`select storage_key from discarded_files where company_id = ${companyId}`).toEqual([
    { storageKey: 'old file' },
  ])
  expect(await db`select storage_key from media where company_id = ${companyId}`).toEqual([
    { storageKey: 'present file' },
  ])
  expect(await db`select due_at is not null as is_due from uploads where company_id = ${companyId}`).toEqual([
    { isDue: true },
  ])
})

test('a drop that finds the table in use tries again, and nothing waits for it', async () => {
  const { companyId } = await createCompanies()
  await writeMessages(companyId, [PRESENT - 3])
  let expiring: Promise<void> | undefined
  await db.begin(async (tx) => {
    await tx`select count(*) from messages`
    await expect(dropMessageMonth(db, PRESENT - 3, KEEP_DAYS)).rejects.toMatchObject({ code: '55P03' })
    expiring = expire()
    await writeMessages((await createCompanies()).companyId, [PRESENT])
    expect(await partitions()).toContain(nameOf(PRESENT - 3))
  })
  await expiring
  expect(await partitions()).not.toContain(nameOf(PRESENT - 3))
})

test('a role without the right to write messages makes and drops no month', async () => {
  await makeMessageMonth(db, PRESENT - 3)
  await db.begin(async (tx) => {
    const role = `reader_${process.pid}`
    await tx.unsafe(`create role ${role}; set local session authorization ${role}`)
    for (const call of [`make_message_month(${PRESENT - 4})`, `drop_message_month(${PRESENT - 3}, 8)`])
      await expect(tx.savepoint((own) => own.unsafe(`select ${call}`))).rejects.toMatchObject({ code: '42501' })
    await tx.unsafe(`reset session authorization; drop role ${role}`)
  })
  expect(await partitions()).toContain(nameOf(PRESENT - 3))
})

test('a page of a conversation has its messages of several months, and of the time before', async () => {
  const { companyId, twinId } = await createCompanies()
  const months = [0, 0, PRESENT - 2, PRESENT - 1, PRESENT]
  for (const id of [companyId, twinId]) await writeMessages(id, months)
  await db`update messages set text = 'other' where company_id = ${twinId}`
  await db`update messages set quoted_wamid = 'w1' where company_id = ${companyId} and seq = 5`
  const conversation = (await findConversation(db, companyId, 1))!
  expect(conversation).toMatchObject({ messageCount: 5, lastText: 'text 5', lastStatus: 'received' })
  const texts = async (from: number, to: number) =>
    (await listMessages(db, companyId, conversation, { from, to })).map(({ text }) => text)
  expect(await texts(1, 5)).toEqual(['text 5', 'text 4', 'text 3', 'text 2', 'text 1'])
  expect(await texts(2, 3)).toEqual(['text 3', 'text 2'])
  const [last] = await listMessages(db, companyId, conversation, { from: 5, to: 5 })
  expect(last?.quoted).toMatchObject({ wamid: 'w1', text: 'text 1' })
})

test('a wamid of an earlier month is recognised, and is unique within a month', async () => {
  const { companyId } = await createCompanies()
  await writeMessages(companyId, [0, PRESENT - 1, PRESENT])
  const known = await findKnownWamids(
    db,
    ['w1', 'w2', 'w3', 'w4'].map((wamid) => ({ companyId, wamid, isReaction: false })),
  )
  expect(known.map(({ wamid }) => wamid).toSorted()).toEqual(['w1', 'w2', 'w3'])
  const again = (column: string) => db`
    insert into messages (company_id, conversation_id, seq, direction, type, status, wamid)
    values (
      ${companyId}, 1, ${column === 'seq' ? 3 : 4}, 'inbound', 'text', 'received', ${column === 'wamid' ? 'w3' : 'w5'}
    )
  `
  await expect(again('seq')).rejects.toMatchObject({ code: '23505' })
  await expect(again('wamid')).rejects.toMatchObject({ code: '23505' })
})

/** A database from before the months, with a message. */
async function createEarlier(): Promise<Pool> {
  const { db: earlier } = await createTestDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'parley-migrations-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const names = readdirSync(MIGRATIONS).filter((name) => name < '0032')
  for (const name of names) cpSync(join(MIGRATIONS, name), join(folder, name))
  await earlier.unsafe('drop schema public cascade; create schema public')
  // Today's functions and views need today's tables.
  await migrate(earlier, { source: { migrations: folder, objects: folder } })
  await earlier.begin(async (tx) => {
    await tx`set local session_replication_role = replica`
    await tx`
      insert into messages (company_id, conversation_id, seq, direction, type, status, wamid)
      select 1, 1, n, 'inbound', 'text', 'received', 'w' || n from generate_series(1, 3) as n
    `
  })
  return earlier
}

test.each([
  false,
  true,
])('an upgrade keeps the table of earlier messages as it is; prepared: %s', async (isPrepared) => {
  const earlier = await createEarlier()
  const fileOf = async (table: string) => (await earlier`select pg_relation_filenode(${table}::regclass) as file`)[0]
  const before = await fileOf('messages')
  if (isPrepared)
    await earlier.unsafe(`
      alter table messages add constraint messages_before_months check (id < 1000000000000) not valid;
      alter table messages validate constraint messages_before_months
    `)
  await migrate(earlier)
  await makeMessageMonths(earlier)
  expect(await fileOf('messages_before_months')).toEqual(before)
  await earlier`
    insert into messages (company_id, conversation_id, seq, direction, type, status) values (1, 1, 4, 'inbound', 'text', 'received')
  `
  const ids = (await earlier<{ id: number }[]>`select id from messages order by seq`).map(({ id }) => id)
  expect(ids).toEqual([1, 2, 3, PRESENT * IDS_A_MONTH + 4])
  // A process of the earlier version, which a rolling upgrade has not replaced yet.
  await earlier`
    insert into messages (company_id, id, conversation_id, seq, direction, type, status)
    overriding system value
    values (1, nextval('messages_id_seq'), 1, 5, 'inbound', 'text', 'received')
  `
  const key = { companyId: 1, wamid: 'w2', isReaction: false }
  expect(await findKnownWamids(earlier, [key])).toMatchObject([{ isRecorded: true }])
})
