import { describe, expect, it } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { holdOpen, untilBlocked } from '../../../test/held-locks.ts'
import { createCompany, envelope, register } from '../../../test/webhook-fixture.ts'
import type { Db } from '../../db/connect.ts'
import type { DirectDispatch } from '../../queue/job.ts'
import { updateRegistrationRow } from '../registrations/registration-store.ts'
import { enqueueDeliveries } from './delivery-store.ts'
import { DELIVER } from './delivery-table.ts'

const { db } = await createTestDatabase({ mirrors: true })
const DISPATCH: DirectDispatch = { kind: DELIVER, fullLanes: [], fullCompanies: [], leaseMs: 15_000, madeAtMs: 0 }
const enqueue = (tx: Db, companyId: number) => enqueueDeliveries(tx, [envelope(companyId, 'w1')], DISPATCH)

describe('an attempt that starts with the commit that leases its delivery', () => {
  it('has what its registration says', async () => {
    const companyId = await createCompany(db)
    const registration = await register(db, companyId)
    const waiting = await register(db, companyId, { ordered: true })
    const [leased, unleased] = await enqueue(db, companyId)
    const { url, method, staticHeaders, secret } = registration
    expect(leased).toMatchObject({ registrationId: registration.id, eventId: 'w1', url, method, staticHeaders, secret })
    expect(leased!.claimId).not.toBeNull()
    expect(unleased).toMatchObject({ registrationId: waiting.id, claimId: null, url: null, secret: null })
  })

  it('is allowed for the receivers to which lease_receivers gives a claim, one for each registration', async () => {
    const companyId = await createCompany(db)
    const [one, full, ordered] = [
      await register(db, companyId),
      await register(db, companyId),
      await register(db, companyId, { ordered: true }),
    ]
    const fullLane = `${companyId}.${full.id}`
    const leaseFor = (leaseMs: number | null) => db<{ id: number; claimId: string | null; url: string | null }[]>`
      select id, claim_id, url
      from lease_receivers(${[companyId]}::bigint[], 1, ${[fullLane]}::text[], ${[]}::bigint[], ${leaseMs}::integer)
      order by id
    `
    const leased = await leaseFor(15_000)
    expect(leased.map(({ id, url }) => [id, url])).toEqual([
      [one.id, one.url],
      [full.id, null],
      [ordered.id, null],
    ])
    expect(leased.map(({ claimId }) => claimId === null)).toEqual([false, true, true])
    expect((await leaseFor(null)).every(({ claimId }) => claimId === null)).toBe(true)
  })

  it('holds a deactivation back until the commit', async () => {
    const companyId = await createCompany(db)
    const registration = await register(db, companyId)
    const commit = await holdOpen(db, (tx) => enqueue(tx, companyId))
    let isDeactivated = false
    const deactivation = updateRegistrationRow(db, companyId, registration.id, { status: 'inactive' }).then(() => {
      isDeactivated = true
    })
    await untilBlocked(db)
    expect(isDeactivated).toBe(false)
    await commit()
    await deactivation
  })

  it('holds the deletion of its company back until the commit', async () => {
    const companyId = await createCompany(db)
    await register(db, companyId)
    const commit = await holdOpen(db, (tx) => enqueue(tx, companyId))
    const deletion = db`update companies set deleted_at = now() where id = ${companyId}`.then(() => {})
    await untilBlocked(db)
    await commit()
    await deletion
  })

  it.each([
    [
      'deactivation',
      (tx: Db, companyId: number, id: number) => updateRegistrationRow(tx, companyId, id, { status: 'inactive' }),
    ],
    [
      'deletion of its company',
      (tx: Db, companyId: number) => tx`update companies set deleted_at = now() where id = ${companyId}`,
    ],
  ])('is left to a claim during a %s, which it does not wait for', async (_what, change) => {
    const companyId = await createCompany(db)
    const { id } = await register(db, companyId)
    await holdOpen(db, async (tx) => {
      await change(tx, companyId, id)
    })
    expect(await enqueue(db, companyId)).toMatchObject([{ registrationId: id, claimId: null, url: null }])
  })
})
