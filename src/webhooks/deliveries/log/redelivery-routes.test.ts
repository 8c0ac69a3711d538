import { describe, expect, it } from 'vitest'
import { startReceiver } from '../../../../test/receiver.ts'
import {
  createCompany,
  register,
  signatureOf,
  startHeld,
  statusOf,
  testCipher,
} from '../../../../test/webhook-fixture.ts'
import { missing, startDeliveryLogs } from '../../../../test/webhooks/delivery-log-world.ts'
import { renewAll } from '../../../../test/webhooks/renew-all.ts'
import { updateRegistrationRow } from '../../registrations/registration-store.ts'

const { db, own, other, wakes, call, deliver } = await startDeliveryLogs()

describe('redelivering one log', () => {
  it('enqueues its delivery again with five new attempts, the same body and id', async () => {
    own.id = await createCompany(db)
    const { id } = await register(db, own.id)
    const delivery = await deliver('w1', ['failed', 'dead'])
    const { body: logs } = await call('GET', `${id}/logs`)
    expect(await call('POST', `${id}/logs/${logs[0].id}/redeliver`)).toEqual({ status: 200, body: { success: true } })
    expect(await Promise.all(wakes)).toEqual([1])
    expect(await statusOf(db, delivery)).toMatchObject({ status: 'pending', attempts: 0, round: 2 })
    expect(await startHeld(db, [delivery])).toMatchObject([
      { attempt: 1, round: 2, eventId: 'w1', body: '{"wamid":"w1"}' },
    ])
    // The second request finds a pending delivery.
    expect((await call('POST', `${id}/logs/${logs[1].id}/redeliver`)).status).toBe(200)
    expect(await statusOf(db, delivery)).toMatchObject({ status: 'pending', round: 2 })
  })

  it('answers 404 for logs that are missing or of another registration or company', async () => {
    own.id = await createCompany(db)
    const { id } = await register(db, own.id)
    const delivery = await deliver('w1', ['delivered'])
    const { id: second } = await register(db, own.id)
    const logId = (await call('GET', `${id}/logs`)).body[0].id
    const noLog = { status: 404, body: { message: 'Delivery log not found' } }
    expect(await call('POST', `${id}/logs/999999999/redeliver`)).toEqual(noLog)
    expect(await call('POST', `${id}/logs/x/redeliver`)).toEqual(noLog)
    expect(await call('POST', `${second}/logs/${logId}/redeliver`)).toEqual(noLog)
    expect(await call('POST', `${id}/logs/${logId}/redeliver`, undefined, other)).toEqual(missing)
    await updateRegistrationRow(db, own.id, id, { status: 'inactive' })
    expect(await call('POST', `${id}/logs/${logId}/redeliver`)).toMatchObject({
      status: 400,
      body: { error: { code: 'bad_request' } },
    })
    expect(await statusOf(db, delivery)).toMatchObject({ status: 'delivered', round: 1 })
  })
})

describe('redelivering a range', () => {
  const since = '2020-01-01T00:00:00Z'

  it('enqueues what is finished, or only dead letters, and counts', async () => {
    own.id = await createCompany(db)
    const { id } = await register(db, own.id)
    const [dead, done] = [await deliver('w1', ['dead']), await deliver('w2', ['delivered'])]
    await deliver('w3', ['failed'])
    const dry = { status: 200, body: { success: true, count: 1 } }
    expect(await call('POST', `${id}/redeliver`, { since, onlyDeadLettered: true, dryRun: true })).toEqual(dry)
    expect((await call('POST', `${id}/redeliver`, { since, dryRun: true })).body.count).toBe(2)
    expect(wakes).toEqual([])
    expect(await call('POST', `${id}/redeliver`, { since, onlyDeadLettered: true })).toEqual({
      status: 200,
      body: { success: true, count: 1 },
    })
    await renewAll(db, own.id)
    expect([(await statusOf(db, dead))?.round, (await statusOf(db, done))?.round]).toEqual([2, 1])
    expect(await call('POST', `${id}/redeliver`, { since })).toEqual({ status: 200, body: { success: true, count: 1 } })
    await renewAll(db, own.id)
    expect([(await statusOf(db, dead))?.round, (await statusOf(db, done))?.round]).toEqual([2, 2])
    expect((await call('POST', `${id}/redeliver`, { since })).body.count).toBe(0)
  })

  it('keeps to the range and the registration', async () => {
    own.id = await createCompany(db)
    const { id } = await register(db, own.id)
    const enqueued = [await deliver('w1', ['dead']), await deliver('w2', ['dead']), await deliver('w3', ['dead'])]
    const [today] = await db<[{ noon: Date }]>`select date_trunc('day', now(), 'UTC') + interval '12 h' as noon`
    const noonPlus = (minutes: number) => new Date(today.noon.getTime() + minutes * 60_000).toISOString()
    for (const [minute, delivery] of enqueued.entries())
      await db`
        update deliveries set created_at = ${noonPlus(minute)}
        where company_id = ${own.id} and id = ${delivery.deliveryId}
      `
    const range = { since: noonPlus(1), until: noonPlus(2) }
    expect((await call('POST', `${(await register(db, own.id)).id}/redeliver`, range)).body.count).toBe(0)
    expect((await call('POST', `${id}/redeliver`, range)).body.count).toBe(1)
    await renewAll(db, own.id)
    expect(await Promise.all(enqueued.map(async (one) => (await statusOf(db, one))?.round))).toEqual([1, 2, 1])
  })

  it('answers 400 without since and 422 to what is no time or ends before it begins', async () => {
    const { id } = await register(db, own.id)
    expect((await call('POST', `${id}/redeliver`, {})).status).toBe(400)
    for (const body of [
      { since: 'yesterday' },
      { since: 7 },
      { since, until: 'x' },
      { since: '0000-01-01T00:00:00Z' },
      { since, until: '9999-12-31T23:59:59-01:00' },
      { since, until: '2019-01-01T00:00:00Z' },
      { since, onlyDeadLettered: 'yes' },
    ])
      expect(await call('POST', `${id}/redeliver`, body)).toMatchObject({
        status: 422,
        body: { error: { code: 'validation_error' } },
      })
    expect(await call('POST', `${id}/redeliver`, { since }, other)).toEqual(missing)
  })
})

describe('a test delivery', () => {
  it('sends one signed sample now and answers what came back', async () => {
    const peer = await startReceiver((_, response) => response.writeHead(418).end('teapot'))
    const secret = testCipher.encrypt('sixteen letters!')
    const staticHeaders = testCipher.encrypt(JSON.stringify([{ key: 'X-Mine', value: 'yes' }]))
    const { id } = await register(db, own.id, { url: `${peer.url}in`, secret, staticHeaders })
    expect(await call('POST', `${id}/test`)).toEqual({
      status: 200,
      body: {
        data: {
          statusCode: 418,
          response: 'teapot',
          errorMessage: 'the receiver answered 418',
          durationMs: expect.any(Number),
        },
      },
    })
    expect(peer.received).toHaveLength(1)
    const [got] = peer.received
    const body = got!.body.toString()
    const sent = JSON.parse(body)
    expect(sent).toMatchObject({
      version: '1',
      event: 'whatsapp.message.received',
      companyId: own.id,
      message: { type: 'text' },
    })
    expect(got!.headers).toMatchObject({
      'content-type': 'application/json',
      'x-mine': 'yes',
      'x-service-delivery': sent.message.wamid,
      'x-service-webhook-id': String(id),
      'x-service-signature': signatureOf('sixteen letters!', body),
    })
    expect((await call('GET', `${id}/logs`)).body).toEqual([])
  })

  it('answers also when no receiver listens, and 404 to another company', async () => {
    const peer = await startReceiver()
    await peer.close()
    const { id } = await register(db, own.id, { url: peer.url })
    expect((await call('POST', `${id}/test`)).body.data).toMatchObject({
      statusCode: null,
      response: null,
      errorMessage: 'the receiver refused the connection (ECONNREFUSED)',
    })
    expect(await call('POST', `${id}/test`, undefined, other)).toEqual(missing)
  })
})
