import { expect, it } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { claimRequest, createCompany, envelope, register, statusOf } from '../../../test/webhook-fixture.ts'
import { fixedClock } from '../../platform/clock.ts'
import { claimDeliveries } from '../deliveries/claim-deliveries.ts'
import { enqueueDeliveries } from '../deliveries/delivery-store.ts'
import { createAttemptBatches } from './deliver.ts'

const { db } = await createTestDatabase({ mirrors: true })
const clock = fixedClock('2026-01-01T00:00:00Z')
const { start, complete } = createAttemptBatches(db, clock)

const claim = async () => {
  const [job] = (await claimDeliveries(db, claimRequest(1))).jobs
  return job!
}

it('only the holder of a delivery may record its outcome', async () => {
  const companyId = await createCompany(db)
  await register(db, companyId)
  const [delivery] = await enqueueDeliveries(db, [envelope(companyId, 'w1')])
  const lost = await claim()
  const started = (await start({ ...delivery!, claimId: lost.claimId }))!
  await db`update deliveries set claim_id = null, lease_until = null where company_id = ${companyId}`
  const held = await claim()

  const attempt = { ...started, statusCode: 500, response: '', errorMessage: 'no', durationMs: 1, sentAt: clock.now() }
  await complete({ claim: lost, record: { ...attempt, next: 'dead' } })
  expect(await statusOf(db, delivery!)).toMatchObject({ status: 'pending', attempts: 0 })
  expect(await db`select from delivery_attempts where company_id = ${companyId}`).toHaveLength(0)

  await complete({ claim: held, record: { ...attempt, next: new Date(clock.now().getTime() + 5_000) } })
  expect(await statusOf(db, delivery!)).toMatchObject({ status: 'pending', attempts: 1 })
  const [job] = await db`
    select claim_id, extract(epoch from due_at - now())::float as seconds
    from deliveries
    where company_id = ${companyId}
  `
  expect(job).toEqual({ claimId: null, seconds: expect.closeTo(5, 0) })
})
