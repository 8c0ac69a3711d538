import { beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createCompany, createSender } from '../../test/world.ts'
import type { Pool } from '../db/connect.ts'
import { applyMarketingTerms, applyNumberLimits, type NumberLimit } from './account-event-store.ts'

let db: Pool
beforeAll(async () => {
  ;({ db } = await createTestDatabase({ mirrors: true }))
})

const NOON = new Date('2026-11-23T12:00:00Z')

/** Creates a company with two numbers in one portfolio and one without a known portfolio. */
async function world() {
  const companyId = await createCompany(db)
  const ids = [await createSender(db, companyId, 'WABA1'), await createSender(db, companyId, 'WABA2')]
  await db`update senders set portfolio_id = 'P1' where company_id = ${companyId}`
  ids.push(await createSender(db, companyId, 'WABA3'))
  const [first] = await db<{ phone: string }[]>`
    select phone from senders where (company_id, id) = (${companyId}, ${ids[0]!})
  `
  const report = (changes: Partial<NumberLimit>) =>
    db.begin((tx) =>
      applyNumberLimits(tx, [
        { ...{ companyId, wabaAccountId: 'WABA1', phone: null, dailyLimit: 2_000, at: NOON }, ...changes },
      ]),
    )
  const limits = async () => {
    const rows = await db<{ dailyLimit: number | null }[]>`
      select daily_limit from senders where company_id = ${companyId} order by id
    `
    return rows.map(({ dailyLimit }) => dailyLimit)
  }
  return { report, limits, phone: first!.phone }
}

describe('a limit that the provider reports', () => {
  test('of an account is that of all numbers of its portfolio', async () => {
    const { report, limits } = await world()
    await report({})
    expect(await limits()).toEqual([2_000, 2_000, null])
  })

  test('of a number is that of all numbers of its portfolio', async () => {
    const { report, limits, phone } = await world()
    await report({ phone })
    expect(await limits()).toEqual([2_000, 2_000, null])
  })

  test('of an account without a known portfolio is that of its own numbers', async () => {
    const { report, limits } = await world()
    await report({ wabaAccountId: 'WABA3' })
    expect(await limits()).toEqual([null, null, 2_000])
  })

  test('changes nothing when it is older than the one that set the limit', async () => {
    const { report, limits } = await world()
    await report({ dailyLimit: 100_000 })
    await report({ wabaAccountId: 'WABA2', at: new Date(NOON.getTime() - 1_000) })
    expect(await limits()).toEqual([100_000, 100_000, null])
  })
})

describe('the terms for marketing that the provider reports', () => {
  async function report(...reports: [isSigned: boolean, secondsLater: number][]) {
    const companyId = await createCompany(db)
    await createSender(db, companyId, 'WABA1')
    await createSender(db, companyId, 'WABA2')
    for (const [isSigned, seconds] of reports) {
      const at = new Date(NOON.getTime() + seconds * 1000)
      await applyMarketingTerms(db, [{ companyId, wabaAccountId: 'WABA1', isSigned, at }])
    }
    const rows = await db<{ marketingTermsSigned: boolean }[]>`
      select marketing_terms_signed from senders where company_id = ${companyId} order by id
    `
    return rows.map(({ marketingTermsSigned }) => marketingTermsSigned)
  }

  test('are those of the numbers of the account', async () => {
    expect(await report()).toEqual([false, false])
    expect(await report([true, 0])).toEqual([true, false])
  })

  test('change nothing when they are older than what is known', async () => {
    expect(await report([true, 0], [false, -1])).toEqual([true, false])
    expect(await report([false, 0], [true, -1])).toEqual([false, false])
    expect(await report([false, 0], [true, 0])).toEqual([true, false])
  })
})
