import { describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createCompany, createSender } from '../../test/world.ts'
import { connect, type Db, jsonRows } from '../db/connect.ts'

const { db, url } = await createTestDatabase({ mirrors: true })

type Item = { customer?: string; idempotency_id?: number; daily_limit?: number; slot_seconds?: number; text?: string }
type Place = { companyId: number; senderId: number }

const AT = new Date('2026-01-02T00:00:00Z')

async function createPlace(): Promise<Place> {
  const companyId = await createCompany(db)
  return { companyId, senderId: await createSender(db, companyId) }
}

/** The items as a parameter of the steps: an array of send_item. */
const given = (tx: Db, { companyId, senderId }: Place, items: readonly Item[]) => {
  const rows = items.map((item, ord) => ({
    ord,
    company_id: companyId,
    sender_id: senderId,
    customer: '39333',
    phone: '39333',
    contact_source: 'WhatsApp',
    source_type: 'test',
    needs_window: false,
    needs_consent: false,
    type: 'text',
    text: 'Hello',
    sender_name: 'Acme',
    ...item,
  }))
  return tx`array(select item from jsonb_populate_recordset(null::send_item, ${jsonRows(tx, rows)}) as item)`
}

async function createKey({ companyId }: Place): Promise<number> {
  const columns = await db<{ name: string; type: string }[]>`
    select column_name as name, data_type as type from information_schema.columns
    where table_name = 'idempotency_keys' and is_nullable = 'NO' and column_default is null and is_identity = 'NO'
  `
  const literalOf = ({ name, type }: { name: string; type: string }): string => {
    if (name === 'company_id') return String(companyId)
    if (type.startsWith('timestamp')) return 'now()'
    if (type === 'bytea') return 'sha256(random()::text::bytea)'
    return type === 'text' ? 'random()::text' : '1'
  }
  const [row] = await db.unsafe<{ id: number }[]>(`
    insert into idempotency_keys (${columns.map(({ name }) => name).join()}) values (${columns.map(literalOf).join()})
    returning id
  `)
  return row!.id
}

test('lock_send_keys leaves out a send whose key was answered or released', async () => {
  const place = await createPlace()
  const [free, answered] = [await createKey(place), await createKey(place)]
  await db`update idempotency_keys set answer_status = 200, answer_body = '{}' where company_id > 0 and id = ${answered}`
  const items = [{ idempotency_id: free }, { idempotency_id: answered }, { idempotency_id: 999_999 }, {}]
  const rows = await db`select ord from unnest(lock_send_keys(${given(db, place, items)}))`
  expect(rows.map(({ ord }) => ord)).toEqual([0, 3])
})

test('lock_send_customers leaves out a send whose customer another transaction has locked', async () => {
  const place = await createPlace()
  const other = connect(url, { max: 1 })
  await other.begin(async (tx) => {
    await tx`select lock_customers(array[row(${place.companyId}, '39444')::customer_key])`
    const rows = await db`
      select ord from unnest(lock_send_customers(${given(db, place, [{ customer: '39333' }, { customer: '39444' }])}))
    `
    expect(rows.map(({ ord }) => ord)).toEqual([0])
  })
  await other.end()
})

test('lock_sender_limits locks the sender_limits rows of senders with a limit or a throttle only', async () => {
  const place = await createPlace()
  const held = async (item: Item): Promise<number> => {
    const other = connect(url, { max: 1 })
    const rows = await db.begin(async (tx) => {
      await tx`select lock_sender_limits(${given(tx, place, [item])})`
      return other`select from sender_limits where company_id = ${place.companyId} for update skip locked`
    })
    await other.end()
    return 1 - rows.length
  }
  expect([await held({}), await held({ daily_limit: 1 }), await held({ slot_seconds: 1 })]).toEqual([0, 1, 1])
})

describe('decide_sends', () => {
  const decide = (place: Place, items: readonly Item[]) => db`
    select (item).ord, refusal, is_outside, has_contact, wait_seconds, slot_wait
    from unnest(decide_sends(${given(db, place, items)}, ${AT}, now(), 6, 2, 5)) order by (item).ord
  `

  test('throttles the third message to a customer when two are the burst', async () => {
    const items = Array.from({ length: 3 }, () => ({ slot_seconds: 0.01 }))
    const decided = await decide(await createPlace(), items)
    expect(decided.map(({ refusal }) => refusal)).toEqual([null, null, 'throttle'])
  })

  test('gives slots of the sender to the accepted sends alone, in their order', async () => {
    const items = ['39333', '39333', '39333', '39444'].map((customer) => ({ customer, slot_seconds: 0.5 }))
    const decided = await decide(await createPlace(), items)
    const accepted = decided.filter(({ refusal }) => refusal === null)
    expect(accepted.map(({ slotWait }) => slotWait)).toEqual([0, 0.5, 1])
  })
})

test('match_sends finds window, contact and consent of each send', async () => {
  const place = await createPlace()
  const rows = await db`
    select customer_key, is_outside, has_contact, refusal from match_sends(${given(db, place, [{}])}, ${AT})
  `
  expect(rows).toEqual([{ customerKey: '39333', isOutside: true, hasContact: false, refusal: null }])
})

test('record_sends writes accepted sends with their contacts, and nothing of a refused one', async () => {
  const place = await createPlace()
  const items = [{ slot_seconds: 0.01, text: 'one' }, { slot_seconds: 0.01, text: 'two' }, { slot_seconds: 9 }]
  const recorded = await db`
    with decided as (
      select decide_sends(${given(db, place, items)}, ${AT}, now(), 6, 2, 5) as sends
    )
    select recorded.* from decided cross join lateral record_sends(decided.sends, ${AT}, now(), 6) as recorded order by ord
  `
  expect(recorded.map(({ ord }) => ord)).toEqual([0, 1])
  const messages = await db`select text, seq, status from messages where company_id = ${place.companyId} order by id`
  expect(messages.map((message) => Object.values(message))).toEqual([
    ['one', 1, 'pending'],
    ['two', 2, 'pending'],
  ])
  const [counts] = await db`
    select
      (select count(*) from contacts where company_id = ${place.companyId}) as contacts,
      (select message_count from conversations where company_id = ${place.companyId}) as messages,
      (select next_slot_at > now() - interval '1 second' from sender_limits where company_id = ${place.companyId})
        as has_slot
  `
  expect(counts).toEqual({ contacts: 1, messages: 2, hasSlot: true })
})
