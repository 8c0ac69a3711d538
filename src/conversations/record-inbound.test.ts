import { describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createCompany, createSender } from '../../test/world.ts'
import { jsonRows } from '../db/connect.ts'

const { db } = await createTestDatabase({ mirrors: true })

type Item = {
  kind?: string
  customer: string
  other?: string
  wamid?: string
  text?: string
  sent?: number
  target_wamid?: string
  emoji?: string
}
type Place = { companyId: number; senderId: number }

const AT = new Date('2026-01-02T00:00:00Z')

async function createPlace(): Promise<Place> {
  const companyId = await createCompany(db)
  return { companyId, senderId: await createSender(db, companyId) }
}

const rowsOf = ({ companyId, senderId }: Place, items: readonly Item[]) =>
  items.map(({ customer, kind = 'message', sent = 1_767_225_600, ...item }, index) => ({
    ord: index + 1,
    company_id: companyId,
    sender_id: senderId,
    kind,
    customer,
    phone: /^[0-9]/.test(customer) ? customer : null,
    type: 'text',
    sent,
    arrived: sent,
    opens_window: kind === 'message',
    ...item,
  }))

/** The items as a parameter of the steps: an array of inbound_item. */
const given = (place: Place, items: readonly Item[]) =>
  db`array(select item from jsonb_populate_recordset(null::inbound_item, ${jsonRows(db, rowsOf(place, items))}) as item)`

const record = (place: Place, items: readonly Item[]) =>
  db`select * from record_inbound(to_jsonb(${given(place, items)}), 'test', 0, ${AT}) order by ord`

describe('match_inbound', () => {
  const match = (place: Place, items: readonly Item[]) =>
    db`select * from unnest(match_inbound(${given(place, items)}))`

  test('finds nothing of a new customer', async () => {
    const nothing = { conversationId: null, contactId: null }
    expect(await match(await createPlace(), [{ customer: '39333', other: 'IT.1' }])).toMatchObject([
      { isNew: true, customerKey: '39333', contactIdentity: '39333', ...nothing },
    ])
  })

  test('tells a message and a reaction that were recorded, or come twice in the batch, from new ones', async () => {
    const place = await createPlace()
    await record(place, [
      { customer: '39333', wamid: 'a' },
      { customer: '39333', wamid: 'b', kind: 'reaction' },
    ])
    const reaction = { customer: '39333', wamid: 'd', kind: 'reaction', target_wamid: 'a', emoji: '👍' }
    await record(place, [reaction])
    const items = [
      { customer: '39333', wamid: 'a' },
      { customer: '39333', wamid: 'b', kind: 'reaction' },
      { customer: '39333', wamid: 'c' },
      { customer: '39444', wamid: 'c' },
      { customer: '39333' },
      { customer: '39333' },
      reaction,
    ]
    const matches = await match(place, items)
    // A reaction without a message that it is about is not kept.
    expect(matches.map(({ isNew }) => isNew)).toEqual([false, true, true, false, true, true, false])
  })

  test('finds a conversation and a contact by the second identity when the first one has none', async () => {
    const place = await createPlace()
    const [known] = await record(place, [{ customer: 'IT.1' }])
    const [found] = await match(place, [{ customer: '39333', other: 'IT.1' }])
    expect(found).toMatchObject({ conversationId: known!.conversationId, customerKey: 'IT.1', contactIdentity: 'IT.1' })
    await record(place, [{ customer: '39333' }])
    const [own] = await match(place, [{ customer: '39333', other: 'IT.1' }])
    expect(own).toMatchObject({ customerKey: '39333', contactIdentity: '39333' })
    expect(own!.conversationId).not.toBe(known!.conversationId)
  })
})

describe('lock_inbound_customers', () => {
  const lock = (place: Place, items: readonly Item[]) =>
    db`select ord, customer, other from unnest(lock_inbound_customers(${given(place, items)}, ${AT}))`

  test('returns items of phone numbers as they are', async () => {
    const items = [{ customer: '39333' }, { customer: '39444' }]
    expect(await lock(await createPlace(), items)).toMatchObject(items)
  })

  test('gives a user id the phone number that it was reported with', async () => {
    const place = await createPlace()
    await lock(place, [{ customer: '39333', other: 'IT.1' }])
    expect(await lock(place, [{ customer: 'IT.1' }])).toMatchObject([{ customer: '39333', other: 'IT.1' }])
  })

  test('ends before an item that moves a number which an earlier one names', async () => {
    const place = await createPlace()
    await lock(place, [{ customer: '39333', other: 'IT.1' }])
    const items = [{ customer: '39333' }, { customer: '39333', other: 'IT.2', sent: 1_767_225_601 }]
    expect(await lock(place, items)).toMatchObject([{ ord: 1 }])
  })

  test('takes the number away from an item that is older than what is known about it', async () => {
    const place = await createPlace()
    await lock(place, [{ customer: '39333', other: 'IT.2', sent: 1_767_225_601 }])
    expect(await lock(place, [{ customer: '39333', other: 'IT.1' }])).toMatchObject([{ customer: 'IT.1', other: null }])
  })
})

test('create_inbound_contacts creates one contact for all new items of a customer, and none for known ones', async () => {
  const place = await createPlace()
  await record(place, [{ customer: '39444', wamid: 'known' }])
  const items = given(place, [
    { customer: '39333' },
    { customer: '39333', wamid: 'x' },
    { customer: '39444', wamid: 'known' },
  ])
  const rows = await db`
    select * from unnest(create_inbound_contacts(${items}, match_inbound(${items}), 'test'))
  `
  expect(new Set(rows.map(({ contactId }) => contactId)).size).toBe(2)
  const [count] = await db`select count(*)::int as contacts from contacts where company_id = ${place.companyId}`
  expect(count).toEqual({ contacts: 2 })
})

test('join_identities leads the second identity to the contact and the conversation of the first', async () => {
  const place = await createPlace()
  await record(place, [{ customer: '39333', other: 'IT.1', wamid: 'a' }])
  const aliases = await db`
    select alias.identity, customer.customer
    from contact_aliases alias
    join customer_aliases customer on (customer.company_id, customer.alias) = (alias.company_id, alias.identity)
    where alias.company_id = ${place.companyId}
  `
  expect(aliases).toEqual([{ identity: 'IT.1', customer: '39333' }])
})

describe('sum_inbound_conversations', () => {
  const sum = async (place: Place, items: readonly Item[]) => {
    const list = given(place, items)
    return db`select * from sum_inbound_conversations(${list}, match_inbound(${list}), 5, ${AT})`
  }

  test('counts as unread what comes after the last echo, and takes the last text', async () => {
    const rows = await sum(await createPlace(), [
      { customer: '39333', text: 'one' },
      { customer: '39333', text: 'two', kind: 'echo' },
      { customer: '39333', text: 'three' },
      { customer: '39333', kind: 'reaction' },
    ])
    expect(rows).toMatchObject([
      { entries: 3, unread: 1, isAnswered: true, isWrittenTo: true, lastText: 'three', lastDirection: 'inbound' },
    ])
  })

  test('a reaction changes neither count nor last text', async () => {
    const rows = await sum(await createPlace(), [{ customer: '39333', kind: 'reaction', text: 'x' }])
    expect(rows).toMatchObject([{ entries: 0, unread: 0, isWrittenTo: false, lastText: null, lastDirection: null }])
  })

  test('the window opens by the earlier of both clocks, and never in the future', async () => {
    const place = await createPlace()
    const [past] = await sum(place, [{ customer: '39333', sent: 1_767_225_600 }])
    expect(past!.lastInboundAt).toEqual(new Date(1_767_225_600_000))
    const [future] = await sum(place, [{ customer: '39333', sent: 4_000_000_000 }])
    expect(future!.lastInboundAt).toEqual(AT)
  })
})

test('record_inbound_messages numbers messages in the order of each conversation, and reactions not at all', async () => {
  const place = await createPlace()
  await record(place, [{ customer: '39333', wamid: 'a' }])
  const recorded = await record(place, [
    { customer: '39333', wamid: 'b' },
    { customer: '39444', wamid: 'c' },
    { customer: '39333', wamid: 'd', kind: 'reaction' },
    { customer: '39333', wamid: 'e', kind: 'echo' },
    { customer: '39333', wamid: 'a' },
  ])
  expect(recorded.map(({ isNew, messageId }) => [isNew, messageId !== null])).toEqual([
    [true, true],
    [true, true],
    [true, false],
    [true, true],
    [false, false],
  ])
  const messages = await db`
    select wamid, seq, direction, status, is_echo from messages where company_id = ${place.companyId} order by id
  `
  expect(messages.map((message) => Object.values(message))).toEqual([
    ['a', 1, 'inbound', 'received', false],
    ['b', 2, 'inbound', 'received', false],
    ['c', 1, 'inbound', 'received', false],
    ['e', 3, 'outbound', 'sent', true],
  ])
})

test('record_inbound keeps equal customers of several companies in one batch apart', async () => {
  const places = [await createPlace(), await createPlace()]
  const recordBoth = async (items: readonly Item[]) => {
    const rows = places.flatMap((place) => rowsOf(place, items)).map((row, index) => ({ ...row, ord: index + 1 }))
    return db`select is_new from record_inbound(${jsonRows(db, rows)}, 'test', 0, ${AT})`
  }
  const contentsOf = ({ companyId }: Place) => db`
    select conversation.customer, conversation.message_count, conversation.last_text, contact.phone,
      array(
        select alias from customer_aliases
        where company_id = ${companyId} and customer = conversation.customer
        order by alias
      ) as aliases
    from conversations conversation
    join contacts contact on (contact.company_id, contact.id) = (conversation.company_id, conversation.contact_id)
    where conversation.company_id = ${companyId}
  `
  expect(await recordBoth([{ customer: '39333', wamid: 'a', text: 'one' }])).toHaveLength(2)
  expect(await recordBoth([{ customer: '39333', other: 'IT.1', wamid: 'b', text: 'two' }])).toHaveLength(2)
  const [one, two] = [await contentsOf(places[0]!), await contentsOf(places[1]!)]
  expect(one).toMatchObject([{ customer: '39333', messageCount: 2, lastText: 'two', phone: '39333' }])
  expect([...two]).toEqual([...one])
})
