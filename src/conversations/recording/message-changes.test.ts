import { describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createCompany, createSender, messageFrom, record } from '../../../test/world.ts'
import { jsonRows, sql } from '../../db/connect.ts'

const { db } = await createTestDatabase({ mirrors: true })

const AT = new Date('2026-01-02T00:00:00Z')

type Change = {
  wamid: string
  kind: 'edit' | 'revoke'
  text?: string
  writers?: string[]
  direction?: string
  at?: string
}

/** A company with one message `m` of the customer 39333, the second of three. */
async function createPlace() {
  const companyId = await createCompany(db)
  const senderId = await createSender(db, companyId)
  const records = ['first', 'm', 'last'].map((wamid) => ({ ...messageFrom(companyId, senderId, '39333'), wamid }))
  await db.begin((tx) => record(tx, records, AT))
  const add = async (changes: readonly Change[]) => {
    const rows = changes.map(
      ({ wamid, kind, text, writers = ['39333'], direction = 'inbound', at = '2026-01-01T00:00:00Z' }) => ({
        ...{ company_id: companyId, wamid, sender_id: senderId, direction, writers, target_wamid: 'm' },
        ...{ kind, text: text ?? null, occurred_at: at },
      }),
    )
    await db`
      insert into message_changes (company_id, wamid, sender_id, direction, writers, target_wamid, kind, text, occurred_at)
      select company_id, wamid, sender_id, direction, writers, target_wamid, kind, text, occurred_at
      from jsonb_populate_recordset(null::message_changes, ${jsonRows(db, rows)})
    `
  }
  const key = (wamid: string) => sql`array[row(${companyId}, ${wamid})::message_key]`
  return { companyId, senderId, add, key }
}

describe('find_message_changes', () => {
  type Place = Awaited<ReturnType<typeof createPlace>>
  const find = ({ key }: Place, wamid = 'm') => db`select kind, text from find_message_changes(${key(wamid)})`

  test('takes the latest of several edits', async () => {
    const place = await createPlace()
    await place.add([
      { wamid: 'e1', kind: 'edit', text: 'later', at: '2026-01-01T00:00:09Z' },
      { wamid: 'e2', kind: 'edit', text: 'earlier' },
    ])
    expect(await find(place)).toEqual([{ kind: 'edit', text: 'later' }])
  })

  test('takes a revoke before every edit, also one that is later', async () => {
    const place = await createPlace()
    await place.add([
      { wamid: 'r', kind: 'revoke' },
      { wamid: 'e', kind: 'edit', text: 'later', at: '2026-01-01T00:00:09Z' },
    ])
    expect(await find(place)).toEqual([{ kind: 'revoke', text: null }])
  })

  test('leaves out changes by another customer, by the business, and of an unknown message', async () => {
    const place = await createPlace()
    await place.add([
      { wamid: 'e1', kind: 'edit', text: 'of another', writers: ['39444'] },
      { wamid: 'e2', kind: 'edit', text: 'of the business', direction: 'outbound' },
    ])
    expect(await find(place)).toEqual([])
    expect(await find(place, 'unknown')).toEqual([])
    expect(await find({ ...place, ...(await createPlace()) })).toEqual([])
  })
})

describe('apply_message_changes', () => {
  const apply = ({ key }: Awaited<ReturnType<typeof createPlace>>) =>
    db`select apply_message_changes(${key('m')}, ${AT})`

  test('gives an edited message its new text, and the conversation none, as another message is its last', async () => {
    const place = await createPlace()
    await place.add([{ wamid: 'e', kind: 'edit', text: 'new' }])
    await apply(place)
    const read = () => db`
      select message.text, message.edited_at is not null as edited, conversation.last_text
      from messages message
      join conversations conversation
        on (conversation.company_id, conversation.id) = (message.company_id, message.conversation_id)
      where (message.company_id, message.wamid) = (${place.companyId}, 'm')
    `
    expect(await read()).toEqual([{ text: 'new', edited: true, lastText: 'Hello' }])
    await db`
      update conversations set message_count = 2 where company_id = ${place.companyId}
    `
    await apply(place)
    expect(await read()).toEqual([{ text: 'new', edited: true, lastText: 'new' }])
  })

  test('takes text and media of a revoked message away, for good', async () => {
    const place = await createPlace()
    await place.add([{ wamid: 'r', kind: 'revoke' }])
    await apply(place)
    await place.add([{ wamid: 'e', kind: 'edit', text: 'new' }])
    await apply(place)
    const read = db`
      select text, media, revoked_at is not null as revoked from messages
      where (company_id, wamid) = (${place.companyId}, 'm')
    `
    expect(await read).toEqual([{ text: '[revoked]', media: null, revoked: true }])
  })
})
