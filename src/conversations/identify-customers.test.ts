import { describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createTwins } from '../../test/twins.ts'
import { jsonRows } from '../db/connect.ts'

const { db } = await createTestDatabase({ mirrors: true })

/** Rows of `createTwins` are from the day before. */
const AT = new Date('2026-01-03T00:00:00Z')
const SENT = AT.getTime() / 1000
const [OLD, NEW] = ['39333', '39444']
const [USER, OTHER_USER] = ['IT.1', 'IT.2']

type Item = { company_id?: number; customer: string; other?: string; sent?: number; wamid?: string }

/** An array of inbound_item of the sender with id 1. */
const given = (companyId: number, items: readonly Item[]) => {
  const rows = items.map(({ customer, ...item }, index) => ({
    ord: index + 1,
    company_id: companyId,
    sender_id: 1,
    kind: 'message',
    customer,
    phone: /^[0-9]/.test(customer) ? customer : null,
    type: 'text',
    sent: SENT,
    arrived: SENT,
    opens_window: true,
    ...item,
  }))
  return db`array(select item from jsonb_populate_recordset(null::inbound_item, ${jsonRows(db, rows)}) as item)`
}

describe('match_identity', () => {
  const match = (companyId: number, identity: string) => db`select * from match_identity(${companyId}, 1, ${identity})`

  test('follows an alias to the conversation, and finds the contact, within its company', async () => {
    const { companyId, twinId } = await createTwins(db, {
      contacts: [[1, OLD, OLD]],
      contactAliases: [[USER, 1]],
      conversations: [[1, OLD, 1, 'open']],
      customerAliases: [[USER, OLD]],
    })
    const found = [{ customerKey: OLD, conversationId: 1, contactId: 1 }]
    expect(await match(companyId, USER)).toEqual(found)
    await db`delete from customer_aliases where company_id = ${companyId}`
    expect(await match(companyId, USER)).toEqual([{ customerKey: USER, conversationId: null, contactId: 1 }])
    expect(await match(twinId, USER)).toEqual(found)
  })

  test('returns a row without ids for an unknown identity', async () => {
    const { companyId } = await createTwins(db)
    expect(await match(companyId, OLD)).toEqual([{ customerKey: OLD, conversationId: null, contactId: null }])
  })
})

test('conversations_of finds a customer by number and by alias, within its company', async () => {
  const { companyId, twinId } = await createTwins(db, {
    contacts: [[1, OLD, OLD]],
    conversations: [[1, OLD, 1, 'open']],
    customerAliases: [[USER, OLD]],
  })
  await db`delete from customer_aliases where company_id = ${twinId}`
  const idsOf = async (company: number, identity: string) =>
    (await db`select id from conversations_of(${company}, ${identity})`).map(({ id }) => id)
  expect(await Promise.all([OLD, USER, NEW].map((identity) => idsOf(companyId, identity)))).toEqual([[1], [1], []])
  expect(await Promise.all([OLD, USER, NEW].map((identity) => idsOf(twinId, identity)))).toEqual([[1], [], []])
})

test('add_hidden_phones gives a user id the number that its company knows for it', async () => {
  const { companyId, twinId } = await createTwins(db, { userIds: [[OLD, USER]] })
  await db`update customer_user_ids set phone_identity = ${NEW} where company_id = ${twinId}`
  const add = (company: number) =>
    db`select customer, other from unnest(add_hidden_phones(${given(company, [{ customer: USER }, { customer: OLD, other: USER }])}))`
  const named = { customer: OLD, other: USER }
  expect(await add(companyId)).toEqual([named, named])
  expect(await add(twinId)).toEqual([{ customer: NEW, other: USER }, named])
})

describe('rename_customer', () => {
  const GIVEN = {
    contacts: [[1, OLD, OLD]] as [number, string, string][],
    conversations: [[1, OLD, 1, 'open']] as [number, string, number, string][],
    customerAliases: [
      ['39555', OLD],
      [USER, OLD],
    ] as [string, string][],
  }

  test('lets user ids lead to the new customer, and other numbers nowhere', async () => {
    const { change } = await createTwins(db, GIVEN)
    expect(
      await change((companyId) => db`select rename_customer(${companyId}, 1, ${NEW}, ${NEW}, ${AT})`),
    ).toMatchObject({
      conversations: [[1, NEW, 1, 'open']],
      customerAliases: [[USER, NEW]],
    })
  })

  test('lets user ids lead to the heir when the customer goes on in another conversation', async () => {
    const { change } = await createTwins(db, GIVEN)
    expect(await change((companyId) => db`select rename_customer(${companyId}, 1, '~1', ${NEW}, ${AT})`)).toMatchObject(
      {
        conversations: [[1, '~1', 1, 'open']],
        customerAliases: [[USER, NEW]],
      },
    )
  })

  test('replaces the customer that the conversation has in its company', async () => {
    const { companyId, twinId } = await createTwins(db, GIVEN)
    await db`update conversations set customer = ${NEW} where company_id = ${twinId}`
    await db`update customer_aliases set customer = ${NEW} where company_id = ${twinId}`
    for (const id of [companyId, twinId]) await db`select rename_customer(${id}, 1, '~1', '~1', ${AT})`
    const aliases = await db`
      select company_id, alias, customer from customer_aliases
      where company_id in (${companyId}, ${twinId})
      order by company_id
    `
    expect([...aliases]).toEqual([companyId, twinId].map((id) => ({ companyId: id, alias: USER, customer: '~1' })))
  })
})

describe('reported_numbers', () => {
  const report = (companyId: number, items: readonly Item[]) =>
    db`select * from reported_numbers(${given(companyId, items)}) order by ord`

  test('says nothing of a pair that the company knows', async () => {
    const { companyId, twinId } = await createTwins(db, { userIds: [[OLD, USER]] })
    await db`delete from customer_user_ids where company_id = ${twinId}`
    const items = [{ customer: OLD, other: USER }, { customer: OLD }]
    expect(await report(companyId, items)).toEqual([])
    expect(await report(twinId, items)).toMatchObject([
      { ord: 1, formerUser: null, formerPhone: null, isKnownUser: false },
    ])
  })

  test('names the user that had the number, and the number that the user had', async () => {
    const { companyId } = await createTwins(db, {
      userIds: [
        [OLD, USER],
        [NEW, OTHER_USER],
      ],
    })
    expect(await report(companyId, [{ customer: OLD, other: OTHER_USER }])).toMatchObject([
      { phoneIdentity: OLD, userId: OTHER_USER, formerUser: USER, formerPhone: NEW, isStale: false },
    ])
  })

  test('calls an item stale that is older than what is known about its number', async () => {
    const { companyId } = await createTwins(db, { userIds: [[OLD, USER]] })
    const items = [{ customer: OLD, other: OTHER_USER, sent: SENT - 10 * 86_400 }]
    expect(await report(companyId, items)).toMatchObject([{ isStale: true }])
  })
})

test('reported_numbers leaves out what its own company has recorded', async () => {
  const { companyId, twinId } = await createTwins(db, {
    contacts: [[1, NEW, NEW]],
    conversations: [[1, NEW, 1, 'open']],
  })
  await db`
    insert into messages (company_id, conversation_id, seq, direction, type, status, wamid)
    values (${twinId}, 1, 1, 'inbound', 'text', 'received', 'm')
  `
  await db`
    insert into message_reactions (company_id, wamid, target_wamid, occurred_at) values (${twinId}, 'r', 'm', ${AT})
  `
  const items = ['m', 'r'].map((wamid) => ({ customer: OLD, other: USER, wamid }))
  const report = (company: number) => db`select ord from reported_numbers(${given(company, items)}) order by ord`
  expect(await report(companyId)).toHaveLength(2)
  expect(await report(twinId)).toHaveLength(0)
})

test('match_inbound matches items of each company by both identities', async () => {
  const { companyId, twinId } = await createTwins(db, { contacts: [[1, OLD, OLD]], contactAliases: [[USER, 1]] })
  const items = [companyId, twinId].map((id) => ({ company_id: id, customer: OLD, other: USER }))
  expect(await db`select * from unnest(match_inbound(${given(companyId, items)}))`).toHaveLength(2)
})

describe('identify_customers', () => {
  const identify = async (companyId: number, items: readonly Item[]) => {
    const rows = await db`select customer, other from unnest(identify_customers(${given(companyId, items)}, ${AT}))`
    return rows.map(({ customer, other }) => [customer, other])
  }

  test('pairs a number with the user id that it is first reported with', async () => {
    const { change } = await createTwins(db)
    const state = await change((companyId) => identify(companyId, [{ customer: OLD, other: USER }]))
    expect(state.userIds).toEqual([[OLD, USER]])
  })

  test('takes a recycled number from the user that had it', async () => {
    const { change } = await createTwins(db, {
      contacts: [[1, OLD, OLD]],
      conversations: [[1, OLD, 1, 'open']],
      userIds: [[OLD, USER]],
    })
    expect(await change((companyId) => identify(companyId, [{ customer: OLD, other: OTHER_USER }]))).toMatchObject({
      contacts: [[1, null, '']],
      conversations: [[1, '~1', 1, 'open']],
      userIds: [[OLD, OTHER_USER]],
    })
  })

  test('moves a user to another number, with the conversation', async () => {
    const { change } = await createTwins(db, {
      contacts: [[1, OLD, OLD]],
      conversations: [[1, OLD, 1, 'open']],
      userIds: [[OLD, USER]],
    })
    expect(await change((companyId) => identify(companyId, [{ customer: NEW, other: USER }]))).toMatchObject({
      contacts: [[1, NEW, NEW]],
      conversations: [[1, NEW, 1, 'open']],
      userIds: [[NEW, USER]],
    })
  })

  test('ends before an item that moves a number which an earlier item names', async () => {
    const { companyId } = await createTwins(db, { userIds: [[OLD, USER]] })
    expect(await identify(companyId, [{ customer: OLD }, { customer: OLD, other: OTHER_USER }])).toEqual([[OLD, null]])
  })

  test('goes on when the earlier item is of another company', async () => {
    const { companyId, twinId } = await createTwins(db, { userIds: [[OLD, USER]] })
    const items = [
      { company_id: twinId, customer: OLD },
      { customer: OLD, other: OTHER_USER },
    ]
    expect(await identify(companyId, items)).toEqual([
      [OLD, null],
      [OLD, OTHER_USER],
    ])
  })
})

test('join_identities shows the number of a contact that was known by a user id alone', async () => {
  const { change } = await createTwins(db, { contacts: [[1, null, '']], contactAliases: [[USER, 1]] })
  const state = await change((companyId) => {
    const list = given(companyId, [{ customer: NEW, other: USER }])
    return db`select join_identities(${list}, match_inbound(${list}), ${AT})`
  })
  expect(state.contacts).toEqual([[1, NEW, NEW]])
})

test('record_inbound_messages writes one message for each company with that customer and sender id', async () => {
  const { companyId, twinId } = await createTwins(db, { contacts: [[1, OLD, OLD]] })
  const list = given(companyId, [{ customer: OLD }, { company_id: twinId, customer: OLD }])
  const recorded = await db`
    select messages.conversation_id
    from (
      select record_inbound_conversations(${list}, match_inbound(${list}), 0, ${AT}) as conversations
    ) as written
    cross join lateral record_inbound_messages(${list}, match_inbound(${list}), written.conversations, ${AT}) as messages
  `
  expect(recorded).toHaveLength(2)
  expect(new Set(recorded.map(({ conversationId }) => conversationId)).size).toBe(2)
})

describe('record_inbound_conversations', () => {
  const record = (companyId: number, items: readonly Item[]) => {
    const list = given(companyId, items)
    return db`select * from unnest(record_inbound_conversations(${list}, match_inbound(${list}), 0, ${AT}))`
  }
  const countsOf = (companyId: number) =>
    db`select unread_messages, message_count, status from conversations where company_id = ${companyId} order by id`

  test('adds to the conversation of its own company and opens it again', async () => {
    const { companyId, change } = await createTwins(db, {
      contacts: [[1, OLD, OLD]],
      conversations: [[1, OLD, 1, 'closed']],
    })
    const { conversations } = await change(async () => {
      expect(await record(companyId, [{ customer: OLD }, { customer: OLD }])).toEqual([
        { companyId, senderId: 1, customerKey: OLD, conversationId: 1, messagesBefore: 0 },
      ])
    })
    expect(conversations).toEqual([[1, OLD, 1, 'open']])
    expect(await countsOf(companyId)).toEqual([{ unreadMessages: 2, messageCount: 2, status: 'open' }])
  })

  test('creates a missing conversation, lists it and counts it', async () => {
    const { companyId } = await createTwins(db, { contacts: [[1, OLD, OLD]] })
    await record(companyId, [{ customer: OLD }])
    expect(await countsOf(companyId)).toEqual([{ unreadMessages: 1, messageCount: 1, status: 'open' }])
    const [counted] = await db`
      select
        (select sum(total)::int from conversation_counts where company_id = ${companyId}) as total,
        (select is_unread from conversation_activity where company_id = ${companyId}) as is_unread
    `
    expect(counted).toEqual({ total: 1, isUnread: true })
  })
})
