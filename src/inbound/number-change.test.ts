import { describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createTwins, type Identities } from '../../test/twins.ts'

const { db } = await createTestDatabase({ mirrors: true })

/** Rows of `createTwins` are from the day before. */
const AT = new Date('2026-01-03T00:00:00Z')
const OLD = '39333'
const NEW = '39444'
const [USER, HOLDER] = ['IT.1', 'IT.2']

const ONE: Partial<Identities> = { contacts: [[1, OLD, OLD]], conversations: [[1, OLD, 1, 'open']] }
const BOTH: Partial<Identities> = {
  contacts: [
    [1, OLD, OLD],
    [2, NEW, NEW],
  ],
  conversations: [
    [1, OLD, 1, 'open'],
    [2, NEW, 2, 'open'],
  ],
}

describe('move_customer', () => {
  const move = (former: string) => (companyId: number) =>
    db`select move_customer(${companyId}, ${former}, ${NEW}, ${NEW}, ${AT})`

  test('lets contact and conversation go on under the new number', async () => {
    const { change } = await createTwins(db, ONE)
    expect(await change(move(OLD))).toMatchObject({ contacts: [[1, NEW, NEW]], conversations: [[1, NEW, 1, 'open']] })
  })

  test('closes the conversation of the former number where the new one has a conversation', async () => {
    const { change, companyId } = await createTwins(db, BOTH)
    expect(await change(move(OLD))).toMatchObject({
      conversations: [
        [1, '~1', 1, 'closed'],
        [2, NEW, 2, 'open'],
      ],
    })
    const listed = await db`
      select status from conversation_activity where company_id = ${companyId} order by conversation_id
    `
    expect(listed.map(({ status }) => status)).toEqual(['closed', 'open'])
  })

  test('lets the new number lead to a conversation that is stored under a user id', async () => {
    const { change } = await createTwins(db, {
      contacts: [[1, null, '']],
      contactAliases: [[USER, 1]],
      conversations: [[1, USER, 1, 'open']],
    })
    expect(await change(move(USER))).toMatchObject({
      contacts: [[1, NEW, NEW]],
      conversations: [[1, USER, 1, 'open']],
      customerAliases: [[NEW, USER]],
    })
  })
})

describe('release_phone', () => {
  const release = (companyId: number) => db`select release_phone(${companyId}, ${OLD}, ${USER}, ${AT})`

  test('leaves the conversation of the number to the user id alone', async () => {
    const { change } = await createTwins(db, { ...ONE, userIds: [[OLD, USER]] })
    expect(await change(release)).toEqual({
      contacts: [[1, null, '']],
      contactAliases: [[USER, 1]],
      conversations: [[1, '~1', 1, 'open']],
      customerAliases: [[USER, '~1']],
      userIds: [],
    })
  })

  test('ends the number as alias of a conversation that is stored under the user id', async () => {
    const { change } = await createTwins(db, {
      contacts: [[1, OLD, OLD]],
      contactAliases: [[USER, 1]],
      conversations: [[1, USER, 1, 'open']],
      customerAliases: [[OLD, USER]],
    })
    expect(await change(release)).toMatchObject({ conversations: [[1, USER, 1, 'open']], customerAliases: [] })
  })
})

describe('change_number', () => {
  const changeNumber =
    (sent = AT) =>
    (companyId: number) =>
      db`select change_number(${companyId}, ${OLD}, ${NEW}, ${NEW}, 'wamid.system', ${sent}, ${AT})`

  test('moves the user id to the new number', async () => {
    const { change } = await createTwins(db, { ...ONE, userIds: [[OLD, USER]] })
    expect(await change(changeNumber())).toMatchObject({ conversations: [[1, NEW, 1, 'open']], userIds: [[NEW, USER]] })
  })

  test('takes the new number from another person, who keeps the conversation under the user id', async () => {
    const { change } = await createTwins(db, {
      ...BOTH,
      userIds: [
        [OLD, USER],
        [NEW, HOLDER],
      ],
    })
    expect(await change(changeNumber())).toMatchObject({
      contacts: [
        [1, NEW, NEW],
        [2, null, ''],
      ],
      conversations: [
        [1, NEW, 1, 'open'],
        [2, '~2', 2, 'open'],
      ],
      customerAliases: [[HOLDER, '~2']],
      userIds: [[NEW, USER]],
    })
  })

  test('does nothing when the old number was reported of another person since', async () => {
    const { change } = await createTwins(db, { ...ONE, userIds: [[OLD, USER]] })
    expect(await change(changeNumber(new Date('2026-01-01T00:00:00Z')))).toMatchObject({
      conversations: [[1, OLD, 1, 'open']],
      userIds: [[OLD, USER]],
    })
  })

  test('does nothing when its message was recorded before', async () => {
    const { change, companyId } = await createTwins(db, ONE)
    await db`
      insert into messages (company_id, conversation_id, seq, direction, type, status, wamid)
      values (${companyId}, 1, 1, 'inbound', 'system', 'received', 'wamid.system')
    `
    expect(await change(changeNumber())).toMatchObject({ conversations: [[1, OLD, 1, 'open']] })
  })
})

describe('change_user_id', () => {
  const changeUserId = (former: string) => (companyId: number) =>
    db`select change_user_id(${companyId}, ${former}, ${HOLDER}, ${AT})`

  test('lets the new user id lead to the same contact and conversation', async () => {
    const { change } = await createTwins(db, { ...ONE, contactAliases: [[USER, 1]], userIds: [[OLD, USER]] })
    expect(await change(changeUserId(OLD))).toMatchObject({
      contactAliases: [
        [USER, 1],
        [HOLDER, 1],
      ],
      customerAliases: [[HOLDER, OLD]],
      userIds: [[OLD, HOLDER]],
    })
  })

  test('leaves a user id that is known already with its customer', async () => {
    const given = { ...BOTH, contactAliases: [[HOLDER, 2]] as [string, number][] }
    const { change } = await createTwins(db, given)
    expect(await change(changeUserId(OLD))).toMatchObject({ contactAliases: [[HOLDER, 2]], customerAliases: [] })
  })
})
