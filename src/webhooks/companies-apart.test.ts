import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createTwins, keepsRows } from '../../test/twins.ts'
import { EVENT, envelope } from '../../test/webhook-fixture.ts'
import { completeAttempts, enqueueDeliveries, startAttempts } from './deliveries/delivery-store.ts'
import { eraseEnvelopes, findMessageEnvelopes } from './deliveries/erase-envelopes.ts'
import { findDelivery, listDeliveries } from './deliveries/list/delivery-list-store.ts'
import { findLoggedDelivery, listLogs } from './deliveries/log/delivery-log-store.ts'
import { countFinished, renewDelivery, renewStep } from './deliveries/redelivery/redelivery-store.ts'

// The companies share all ids, as after a move between installations.
const { db } = await createTestDatabase()
const DAY_MS = 86_400_000
const DAY = Math.floor(Date.now() / DAY_MS)
const ID = DAY * 1_000_000_000 + 500_000_000
const LOG_ID = ID + 100
const CLAIM = { claimId: randomUUID() }
/** One day on either side, in case the day ends during the test. */
const RANGE = {
  since: new Date(Date.now() - DAY_MS),
  until: new Date(Date.now() + DAY_MS),
  onlyDeadLettered: false,
}

async function insertDelivery(companyId: number, id: number, wamid: string, status: string): Promise<void> {
  await db`
    insert into envelopes (company_id, day, event_id, event, body, delivery_ids)
    values (${companyId}, ${DAY}, ${wamid}, ${EVENT}, ${bodyOf(companyId)}, ${[id]})
  `
  await db`
    insert into deliveries (company_id, id, day, registration_id, event, event_id, status)
    values (${companyId}, ${id}, ${DAY}, 1, ${EVENT}, ${wamid}, ${status})
  `
}

const bodyOf = (companyId: number) => `{"of":${companyId}}`
const urlOf = (companyId: number) => `https://${companyId}.example/`

/** Creates two companies with a registration, a delivery and an attempt each; the receivers answered with different codes. */
async function createDeliveries(status: string, wamid = 'w1') {
  const { companyId, twinId } = await createTwins(db)
  for (const [id, code] of [[companyId, 500] as const, [twinId, 503] as const]) {
    await db`
      insert into registrations (company_id, id, name, url, events)
      overriding system value
      values (${id}, 1, 'Receiver', ${urlOf(id)}, ${[EVENT]})
    `
    await insertDelivery(id, ID, wamid, status)
    await db`
      insert into delivery_attempts (
        company_id, id, day, registration_id, delivery_id, round, attempt, status_code, response, duration_ms, sent_at
      )
      values (${id}, ${LOG_ID}, ${DAY}, 1, ${ID}, 1, 1, ${code}, 'no', 1, now())
    `
    if (status === 'pending') {
      await db`
        update deliveries set claim_id = ${CLAIM.claimId}, lease_until = now() + interval '1 minute'
        where company_id = ${id}
      `
    }
  }
  return { companyId, twinId }
}

const heldBy = (companyId: number) => ({ companyId, deliveryId: ID, ...CLAIM })

test('a message is delivered to the receivers of its company', async () => {
  const { companyId, twinId } = await createDeliveries('dead')
  const enqueued = await enqueueDeliveries(db, [envelope(companyId, 'w2'), envelope(twinId, 'w2')])
  expect(enqueued.map((one) => [one.companyId, one.registrationId])).toEqual([
    [companyId, 1],
    [twinId, 1],
  ])
})

test('attempts of two companies start with the receiver and the body of each', async () => {
  const { companyId, twinId } = await createDeliveries('pending')
  const started = await startAttempts(db, [heldBy(companyId), heldBy(twinId)])
  const sent = started.map((one) => [one.companyId, one.url, one.body]).toSorted()
  expect(sent).toEqual([companyId, twinId].map((id) => [id, urlOf(id), bodyOf(id)]).toSorted())
})

test('an attempt starts though another company holds a delivery with its id, and waits for no change of its receiver', async () => {
  const { companyId, twinId } = await createDeliveries('pending')
  const startOne = (id: number) =>
    db.begin(async (tx) => {
      await tx`set local lock_timeout = '1s'`
      return { started: (await startAttempts(tx, [heldBy(id)])).map((one) => one.companyId) }
    })
  await db.begin(async (changing) => {
    await changing`update registrations set name = 'New' where company_id = ${twinId}`
    expect(await startOne(companyId)).toEqual({ started: [companyId] })
  })
  expect(await startOne(twinId)).toEqual({ started: [twinId] })
})

test('an attempt completes the delivery of its company', async () => {
  const { companyId, twinId } = await createDeliveries('pending')
  const [started] = await startAttempts(db, [heldBy(companyId)])
  const outcome = { statusCode: 200, response: 'ok', errorMessage: null, durationMs: 1, sentAt: new Date() }
  const record = { ...started!, ...outcome, next: 'delivered' as const }
  await keepsRows(db, twinId, () => completeAttempts(db, [{ claim: CLAIM, record, afterMs: undefined }]))
  expect([...(await db`select status from deliveries where company_id = ${companyId}`)]).toEqual([
    { status: 'delivered' },
  ])
})

test('deliveries show the attempts and the body of their company', async () => {
  const { companyId, twinId } = await createDeliveries('dead')
  for (const [id, code] of [[companyId, 500] as const, [twinId, 503] as const]) {
    await db`update deliveries set attempts = ${code} where company_id = ${id}`
    const listed = await listDeliveries(db, id, 1, { limit: 10 })
    expect(listed.map(({ lastStatusCode }) => lastStatusCode)).toEqual([code])
    const found = await findDelivery(db, id, 1, ID, 10)
    expect(found?.attempts).toBe(code)
    expect([found?.body, found?.recorded.map(({ statusCode }) => statusCode)]).toEqual([bodyOf(id), [code]])
  }
})

test('the log shows the attempts and the bodies of the company', async () => {
  const { companyId, twinId } = await createDeliveries('dead')
  for (const id of [companyId, twinId]) {
    expect((await listLogs(db, id, 1)).map(({ body }) => body)).toEqual([bodyOf(id)])
    expect((await findLoggedDelivery(db, id, 1, LOG_ID))?.companyId).toBe(id)
  }
})

test('a delivery of the company is due again', async () => {
  const { companyId, twinId } = await createDeliveries('dead')
  expect(await keepsRows(db, twinId, () => renewDelivery(db, companyId, ID))).toBe(true)
})

test('deliveries of a receiver are due again, and none that only another company has sent to its receiver of that id', async () => {
  const { companyId, twinId } = await createDeliveries('dead')
  for (const id of [companyId, twinId]) await insertDelivery(id, ID + 1, 'w2', 'dead')
  await db`update deliveries set registration_id = 2 where (company_id, id) = (${companyId}, ${ID + 1})`
  expect((await countFinished(db, companyId, 1, RANGE)).found).toBe(1)
  const redelivery = { ...RANGE, id: 1, registrationId: 1, renewedUpTo: 0, requestedAt: new Date().toISOString() }
  const renewed = await keepsRows(db, twinId, () => renewStep(db, companyId, redelivery, 1_000))
  expect(renewed.count).toBe(1)
})

test('an erasure erases envelopes, deliveries and answers of its company', async () => {
  const { companyId, twinId } = await createDeliveries('dead', 'erase me')
  // The other company's envelope has a delivery id that belongs to another message here.
  await db`update envelopes set delivery_ids = ${[ID + 1]} where company_id = ${twinId}`
  await insertDelivery(companyId, ID + 1, 'w2', 'dead')
  const envelopes = await findMessageEnvelopes(db, companyId, [{ wamid: 'erase me', erased: 'erased:1' }])
  expect(envelopes).toHaveLength(1)
  await keepsRows(db, twinId, () => eraseEnvelopes(db, companyId, envelopes))
  const deliveries = await db`select event_id from deliveries where company_id = ${companyId} order by id`
  expect(deliveries.map(({ eventId }) => eventId)).toEqual(['erased:1', 'w2'])
  const [attempt] = await db`select response from delivery_attempts where company_id = ${companyId}`
  expect(attempt).toEqual({ response: null })
})
