import { beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { untilBlocked } from '../../../test/held-locks.ts'
import { createCompany, envelope, register, startHeld, statusOf } from '../../../test/webhook-fixture.ts'
import { markRegistrationDeleted, updateRegistrationRow } from '../registrations/registration-store.ts'
import { enqueueDeliveries, type StartedAttempt } from './delivery-store.ts'
import { listLogs } from './log/delivery-log-store.ts'

const { db } = await createTestDatabase({ mirrors: true })
let companyId: number
let other: number

beforeAll(async () => {
  other = await createCompany(db, 'Other')
})

const fresh = async () => {
  companyId = await createCompany(db)
}

const attemptRows = async (deliveryId: number) => {
  const [row] = await db`select registration_id from deliveries where company_id = ${companyId} and id = ${deliveryId}`
  const logs = await listLogs(db, companyId, row!.registrationId)
  return logs.filter((log) => log.deliveryId === deliveryId).toReversed()
}

describe('beginning attempts', () => {
  it('gives what an attempt needs, as the registration is now', async () => {
    await fresh()
    const input = { secret: 'sealed', staticHeaders: 'sealed too', method: 'GET' } as const
    const registration = await register(db, companyId, input)
    const enqueued = await enqueueDeliveries(db, [envelope(companyId, 'w1')])
    await updateRegistrationRow(db, companyId, registration.id, { url: 'https://new.example/' })
    expect(await startHeld(db, enqueued)).toEqual([
      {
        companyId,
        deliveryId: enqueued[0]!.deliveryId,
        registrationId: registration.id,
        round: 1,
        attempt: 1,
        event: 'whatsapp.message.received',
        eventId: 'w1',
        body: '{"wamid":"w1"}',
        url: 'https://new.example/',
        method: 'GET',
        staticHeaders: 'sealed too',
        secret: 'sealed',
        waits: false,
      },
    ])
  })

  it('skips what is due while its registration is inactive or deleted: no attempt, no log row, no retry', async () => {
    for (const stop of [
      (id: number) => updateRegistrationRow(db, companyId, id, { status: 'inactive' }),
      (id: number) => markRegistrationDeleted(db, companyId, id),
    ]) {
      await fresh()
      const registration = await register(db, companyId)
      const enqueued = await enqueueDeliveries(db, [envelope(companyId, 'w1')])
      await stop(registration.id)
      expect(await startHeld(db, enqueued)).toEqual([])
      expect(await statusOf(db, enqueued[0]!)).toMatchObject({ status: 'skipped', attempts: 0 })
      expect(await attemptRows(enqueued[0]!.deliveryId)).toHaveLength(0)
      await updateRegistrationRow(db, companyId, registration.id, { status: 'active' })
      expect(await startHeld(db, enqueued)).toEqual([])
    }
  })

  it('waits for a deactivation that is being committed, and sees it', async () => {
    await fresh()
    const registration = await register(db, companyId)
    const enqueued = await enqueueDeliveries(db, [envelope(companyId, 'w1')])
    let started: Promise<StartedAttempt[]> | undefined
    await db.begin(async (tx) => {
      await updateRegistrationRow(tx, companyId, registration.id, { status: 'inactive' })
      started = startHeld(db, enqueued)
      await untilBlocked(db)
    })
    expect(await started).toEqual([])
    expect(await statusOf(db, enqueued[0]!)).toMatchObject({ status: 'skipped' })
  })

  it('holds a deactivation back until it has started', async () => {
    await fresh()
    const registration = await register(db, companyId)
    const enqueued = await enqueueDeliveries(db, [envelope(companyId, 'w1')])
    let isDeactivated = false
    let deactivation: Promise<void> | undefined
    await db.begin(async (tx) => {
      expect(await startHeld(tx, enqueued)).toHaveLength(1)
      deactivation = updateRegistrationRow(db, companyId, registration.id, { status: 'inactive' }).then(() => {
        isDeactivated = true
      })
      await untilBlocked(db)
      expect(isDeactivated).toBe(false)
    })
    await deactivation
    expect(isDeactivated).toBe(true)
  })

  it('finds nothing under another company', async () => {
    await fresh()
    await register(db, companyId)
    const enqueued = await enqueueDeliveries(db, [envelope(companyId, 'w1')])
    expect(await startHeld(db, [{ ...enqueued[0]!, companyId: other }])).toEqual([])
  })
})
