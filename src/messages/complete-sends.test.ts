import { describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createTwins } from '../../test/twins.ts'
import { jsonRows } from '../db/connect.ts'

const { db } = await createTestDatabase({ mirrors: true })

const AT = new Date('2026-01-03T00:00:00Z')
const DIALLED = '39333'
const [KNOWN, USER] = ['39444', 'IT.1']

/** Two companies with a conversation of `DIALLED` whose message has the id 1. */
async function createSends(given: Parameters<typeof createTwins>[1] = {}) {
  const twins = await createTwins(db, {
    contacts: [[1, DIALLED, DIALLED]],
    conversations: [[1, DIALLED, 1, 'open']],
    ...given,
  })
  for (const companyId of [twins.companyId, twins.twinId]) {
    await db`
      insert into messages (company_id, id, conversation_id, seq, direction, type, status)
      overriding system value
      values (${companyId}, 1, 1, 1, 'outbound', 'text', 'pending')
    `
  }
  return twins
}

const messagesOf = (companyId: number) => db`select status, wamid, error from messages where company_id = ${companyId}`

describe('complete_sends', () => {
  const complete = (companyId: number, outcome: object) =>
    db`select complete_sends(${jsonRows(db, [{ company_id: companyId, message_id: 1, ...outcome }])}, ${AT})`

  test('writes the outcome to the message of its company alone', async () => {
    const { companyId, twinId } = await createSends()
    await complete(companyId, { status: 'sent', wamid: 'wamid.1' })
    expect(await messagesOf(companyId)).toEqual([{ status: 'sent', wamid: 'wamid.1', error: null }])
    expect(await messagesOf(twinId)).toEqual([{ status: 'pending', wamid: null, error: null }])
  })

  test('never takes a message back from a status that has come further', async () => {
    const { companyId } = await createSends()
    await db`update messages set status = 'delivered' where company_id = ${companyId}`
    await complete(companyId, { status: 'unknown', error: { code: 'timeout' } })
    expect(await messagesOf(companyId)).toEqual([{ status: 'delivered', wamid: null, error: null }])
  })

  test('keeps the answer of an Idempotency-Key, or releases a key without one, in its company alone', async () => {
    const { companyId, twinId } = await createSends()
    for (const id of [companyId, twinId]) {
      for (const key of [1, 2]) await createKey(id, key)
    }
    const keysOf = (id: number) =>
      db`select id, answer_status from idempotency_keys where company_id = ${id} order by id`
    const before = await keysOf(twinId)
    await complete(companyId, { status: 'sent', idempotency_id: 1, answer_status: 200, answer_body: '{}' })
    await complete(companyId, { status: 'sent', idempotency_id: 2 })
    expect(await keysOf(companyId)).toEqual([{ id: 1, answerStatus: 200 }])
    expect(await keysOf(twinId)).toEqual(before)
  })
})

/** A key in flight whose request wrote message 1. */
const createKey = (companyId: number, id: number) => db`
  insert into idempotency_keys (company_id, id, client_id, method, path, key, digest, message_id, lease_until)
  overriding system value
  values (${companyId}, ${id}, 'client', 'POST', '/send', ${`key ${id}`}, '', 1, now() + interval '1 minute')
`

describe('alias_recipients', () => {
  const alias =
    (customer: string, dialled = DIALLED) =>
    (companyId: number) => {
      const sends = [{ company_id: companyId, message_id: 1, dialled, customer }]
      return db`
      select alias_recipients(
        array(select send from jsonb_populate_recordset(null::identified_send, ${jsonRows(db, sends)}) as send), ${AT}
      )
    `
    }

  test('lets the number that the provider names lead to conversation and contact', async () => {
    const { change } = await createSends()
    expect(await change(alias(KNOWN))).toMatchObject({
      contactAliases: [[KNOWN, 1]],
      customerAliases: [[KNOWN, DIALLED]],
      userIds: [],
    })
  })

  test('pairs a number with the user id that the provider names', async () => {
    const { change } = await createSends()
    expect(await change(alias(USER))).toMatchObject({ customerAliases: [[USER, DIALLED]], userIds: [[DIALLED, USER]] })
  })

  test('lets the dialled number lead to a conversation that exists under the other identity', async () => {
    const { change } = await createSends({
      contacts: [
        [1, DIALLED, DIALLED],
        [2, KNOWN, KNOWN],
      ],
      conversations: [
        [1, DIALLED, 1, 'open'],
        [2, KNOWN, 2, 'open'],
      ],
    })
    expect(await change(alias(KNOWN))).toMatchObject({ contactAliases: [], customerAliases: [[DIALLED, KNOWN]] })
  })

  test('keeps a number and a user id apart that are known to be of two customers', async () => {
    const { change } = await createSends({ userIds: [[DIALLED, 'IT.2']] })
    expect(await change(alias(USER))).toMatchObject({
      contactAliases: [],
      customerAliases: [],
      userIds: [[DIALLED, 'IT.2']],
    })
  })
})
