import { expect, it } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createCompany, envelope, register } from '../../../test/webhook-fixture.ts'
import type { DirectDispatch } from '../../queue/job.ts'
import { DELIVER, enqueueDeliveries } from './delivery-store.ts'

const { db } = await createTestDatabase({ mirrors: true })
const DISPATCH: DirectDispatch = { kind: DELIVER, fullLanes: [], leaseMs: 15_000, madeAtMs: 0 }

it('leases deliveries of unordered registrations, except in full lanes', async () => {
  const companyId = await createCompany(db)
  const [one, full] = [await register(db, companyId), await register(db, companyId)]
  const ordered = await register(db, companyId, { ordered: true })
  const dispatch = { ...DISPATCH, fullLanes: [`${companyId}.${full.id}`] }
  const deliveries = await enqueueDeliveries(db, [envelope(companyId, 'w1')], dispatch)
  const isLeased = new Map(deliveries.map(({ registrationId, claimId }) => [registrationId, claimId !== null]))
  expect(isLeased).toEqual(
    new Map([
      [one.id, true],
      [full.id, false],
      [ordered.id, false],
    ]),
  )
})

it('leases nothing to a caller that is no worker', async () => {
  const companyId = await createCompany(db)
  await register(db, companyId)
  expect(await enqueueDeliveries(db, [envelope(companyId, 'w3')])).toMatchObject([{ claimId: null }])
})
