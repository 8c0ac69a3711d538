import { describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createTwins } from '../../test/twins.ts'
import { connect } from '../db/connect.ts'

const { db, url } = await createTestDatabase({ mirrors: true })

const AT = new Date('2026-01-03T00:00:00Z')
const OLD = '39333'
const NEW = '39444'
const USER = 'IT.1'

describe('take_phone', () => {
  const take = (companyId: number) => db`select take_phone(${companyId}, ${OLD}, ${AT})`

  test('takes the number and its line of the searchable text from the contact that has it', async () => {
    const { change } = await createTwins(db, {
      contacts: [
        [1, OLD, `ada\n${OLD}`],
        [2, NEW, NEW],
      ],
      contactAliases: [[USER, 1]],
    })
    expect(await change(take)).toMatchObject({
      contacts: [
        [1, null, 'ada'],
        [2, NEW, NEW],
      ],
      contactAliases: [[USER, 1]],
    })
  })

  test('takes every number from the contact that is known by one of them', async () => {
    const { change } = await createTwins(db, {
      contacts: [[1, NEW, NEW]],
      contactAliases: [
        [OLD, 1],
        [USER, 1],
      ],
    })
    expect(await change(take)).toMatchObject({ contacts: [[1, null, '']], contactAliases: [[USER, 1]] })
  })

  test('changes nothing when no contact has the number', async () => {
    const given = { contacts: [[1, NEW, NEW]] as [number, string, string][] }
    const { change } = await createTwins(db, given)
    expect(await change(take)).toMatchObject(given)
  })
})

test('take_phone_of_deleted takes the number from a deleted contact, and not from a living one', async () => {
  const { change } = await createTwins(db, {
    contacts: [
      [1, OLD, ''],
      [2, NEW, ''],
    ],
  })
  await db`update contacts set deleted_at = ${AT} where company_id > 0 and id = 1`
  const { contacts } = await change(async (companyId) => {
    await db`select take_phone_of_deleted(${companyId}, 1, ${OLD})`
    await db`select take_phone_of_deleted(${companyId}, 2, ${NEW})`
  })
  expect(contacts).toEqual([
    [1, null, ''],
    [2, NEW, ''],
  ])
})

describe('move_contact', () => {
  const moved = (former: string) => async (companyId: number) => {
    const [row] = await db`select move_contact(${companyId}, ${former}, ${NEW}, ${NEW}, ${AT}) as id`
    return row?.id
  }

  test('gives the contact of the former number the new one', async () => {
    const { change } = await createTwins(db, { contacts: [[1, OLD, `ada\n${OLD}`]] })
    expect((await change(moved(OLD))).contacts).toEqual([[1, NEW, `ada\n${NEW}`]])
  })

  test('gives the contact of a user id without a number the new number', async () => {
    const { change } = await createTwins(db, { contacts: [[1, null, '']], contactAliases: [[USER, 1]] })
    expect((await change(moved(USER))).contacts).toEqual([[1, NEW, NEW]])
  })

  test('leaves the new number with the contact that has it, and moves the user ids there', async () => {
    const { change, companyId } = await createTwins(db, {
      contacts: [
        [1, OLD, OLD],
        [2, NEW, NEW],
      ],
      contactAliases: [[USER, 1]],
    })
    expect(await change(moved(OLD))).toMatchObject({
      contacts: [
        [1, null, ''],
        [2, NEW, NEW],
      ],
      contactAliases: [[USER, 2]],
    })
    expect(await moved(OLD)(companyId)).toBe(2)
  })
})

test('are_two_customers compares a number and a user id with the pairs of their company alone', async () => {
  const { companyId, twinId } = await createTwins(db, { userIds: [[OLD, USER]] })
  const areTwo = async (company: number, number: string, userId: string) => {
    const [row] = await db`select are_two_customers(${company}, ${number}, ${userId}) as answer`
    return row?.answer
  }
  expect(await areTwo(companyId, OLD, USER)).toBe(false)
  expect(await areTwo(companyId, OLD, 'IT.2')).toBe(true)
  expect(await areTwo(companyId, NEW, USER)).toBe(true)
  expect(await areTwo(companyId, NEW, 'IT.2')).toBe(false)
  await db`delete from customer_user_ids where company_id = ${companyId}`
  expect([await areTwo(companyId, NEW, USER), await areTwo(twinId, NEW, USER)]).toEqual([false, true])
})

test('partners_of finds the other identity of a pair from either side', async () => {
  const { companyId, twinId } = await createTwins(db, { userIds: [[OLD, USER]] })
  await db`update customer_user_ids set user_id = 'IT.2' where company_id = ${twinId}`
  const rows = await db`
    select company_id, identity
    from partners_of(array[row(${companyId}, ${OLD}), row(${companyId}, ${USER}), row(${twinId}, ${OLD})]::customer_key[])
  `
  expect(rows.map(({ companyId: company, identity }) => [company, identity]).toSorted()).toEqual(
    [
      [companyId, USER],
      [companyId, OLD],
      [twinId, 'IT.2'],
    ].toSorted(),
  )
})

test('lock_customers_and_partners locks both identities of a pair; try_lock_customers returns those it holds', async () => {
  const { companyId, twinId } = await createTwins(db, { userIds: [[OLD, USER]] })
  const other = connect(url, { max: 1 })
  await other.begin(async (tx) => {
    await tx`select lock_customers_and_partners(array[row(${companyId}, ${OLD})::customer_key])`
    const rows = await db`
      select company_id, identity
      from try_lock_customers(array[
        row(${companyId}, ${OLD}), row(${companyId}, ${USER}), row(${companyId}, ${NEW}), row(${twinId}, ${OLD})
      ]::customer_key[])
    `
    expect(new Set(rows.map((row) => `${row.companyId} ${row.identity}`))).toEqual(
      new Set([`${companyId} ${NEW}`, `${twinId} ${OLD}`]),
    )
  })
  await other.end()
})

test('lock_customers_and_partners fails with serialization_failure when a pair changes while it waits', async () => {
  const { companyId } = await createTwins(db)
  const other = connect(url, { max: 1 })
  const waiting = Promise.withResolvers<Promise<unknown>>()
  await other.begin(async (tx) => {
    await tx`select lock_customers(array[row(${companyId}, ${OLD})::customer_key])`
    const locked = db`select lock_customers_and_partners(array[row(${companyId}, ${OLD})::customer_key])`.execute()
    waiting.resolve(locked.catch((error: { code: string }) => error.code))
    await expect
      .poll(async () => (await tx`select from pg_locks where locktype = 'advisory' and not granted`).length)
      .toBe(1)
    await tx`insert into customer_user_ids values (${companyId}, ${OLD}, ${USER}, ${AT})`
  })
  await other.end()
  expect(await await waiting.promise).toBe('40001')
})

describe('keep_opt_outs', () => {
  const answer = (companyId: number, answers: [string, string | null, boolean][]) => {
    const rows = answers.map(([channel, identity, value]) => ({ channel, identity, value }))
    return db`
      select keep_opt_outs(${companyId}, array(
        select answer from jsonb_populate_recordset(null::consent_answer, ${JSON.stringify(rows)}::text::jsonb) as answer
      ))
    `
  }
  const isOptedOut = async (companyId: number, channel: string, identity: string) => {
    const [row] = await db`select is_opted_out(${companyId}, ${channel}, ${identity}) as answer`
    return row?.answer
  }

  test('keeps the last answer of an identity on a channel, for its company alone', async () => {
    const { companyId, twinId } = await createTwins(db)
    await answer(companyId, [
      ['whatsapp', OLD, true],
      ['whatsapp', OLD, false],
      ['email', NEW, false],
      ['email', NEW, true],
      ['email', null, false],
    ])
    expect(await isOptedOut(companyId, 'whatsapp', OLD)).toBe(true)
    expect(await isOptedOut(companyId, 'email', OLD)).toBe(false)
    expect(await isOptedOut(companyId, 'email', NEW)).toBe(false)
    expect(await isOptedOut(twinId, 'whatsapp', OLD)).toBe(false)
  })

  test('ends an opt-out that is stored as opt_out_hash, whose value differs by company', async () => {
    const { companyId, twinId } = await createTwins(db)
    for (const id of [companyId, twinId]) {
      await db`insert into opt_outs (company_id, channel, identity) values (${id}, 'email', opt_out_hash(${id}, ${OLD}))`
    }
    const hashes = await db`select distinct identity from opt_outs where company_id in (${companyId}, ${twinId})`
    expect(hashes).toHaveLength(2)
    expect(await isOptedOut(companyId, 'email', OLD)).toBe(true)
    await answer(companyId, [['email', OLD, true]])
    expect([await isOptedOut(companyId, 'email', OLD), await isOptedOut(twinId, 'email', OLD)]).toEqual([false, true])
  })
})

test('consent_identity takes the address of the channel, or the other one when there is none', async () => {
  const [row] = await db`
    select
      consent_identity('email', 'a@b.c', '39') as email,
      consent_identity('email', null, '39') as email_without,
      consent_identity('whatsapp', 'a@b.c', '39') as whatsapp,
      consent_identity('whatsapp', 'a@b.c', null) as whatsapp_without
  `
  expect(row).toEqual({ email: 'mailto:a@b.c', emailWithout: '39', whatsapp: '39', whatsappWithout: 'mailto:a@b.c' })
})
