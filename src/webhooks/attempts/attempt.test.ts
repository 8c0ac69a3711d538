import { afterAll, describe, expect, it } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { startReceiver } from '../../../test/receiver.ts'
import {
  completeHeld,
  createCompany,
  envelope,
  register,
  signatureOf,
  startHeld,
  statusOf,
  testCipher,
} from '../../../test/webhook-fixture.ts'
import { fixedClock } from '../../platform/clock.ts'
import { enqueueDeliveries } from '../deliveries/delivery-store.ts'
import { listLogs } from '../deliveries/log/delivery-log-store.ts'
import { makeAttempt } from './deliver.ts'
import { createSigners } from './delivery-headers.ts'
import { createReceiverClient } from './post.ts'

const { db } = await createTestDatabase()
const receiver = createReceiverClient({ allowPrivate: true })
const clock = fixedClock('2026-01-01T00:00:00Z')
const deps = {
  signers: createSigners(testCipher),
  cipher: testCipher,
  clock,
  receiver,
  serviceName: 'Service',
  random: () => 0,
}
afterAll(() => receiver.close())

describe('an attempt from beginning to record', () => {
  it('sends, signs and logs the same bytes', async () => {
    const peer = await startReceiver((_, response) => response.end('ok'))
    const companyId = await createCompany(db)
    const secret = testCipher.encrypt('sixteen letters!')
    const { id } = await register(db, companyId, { url: peer.url, secret })
    const body = '{"text":"é 👋","n":1.10}'
    const deliveries = await enqueueDeliveries(db, [envelope(companyId, 'wamid.A', body)])
    const [started] = await startHeld(db, deliveries)
    await completeHeld(db, [await makeAttempt(deps, started!)])
    const [got] = peer.received
    expect(got!.body.toString()).toBe(body)
    expect(got!.headers).toMatchObject({
      'x-service-delivery': 'wamid.A',
      'x-service-webhook-id': String(id),
      'x-service-signature': signatureOf('sixteen letters!', body),
      'webhook-timestamp': '1767225600',
    })
    expect(await listLogs(db, companyId, id)).toMatchObject([
      { body, response: 'ok', statusCode: 200, errorMessage: null, attempt: 1, sentAt: clock.now() },
    ])
    expect(await statusOf(db, started!)).toMatchObject({ status: 'delivered' })
  })

  it('fails five times, 5, 10, 20 and 40 s apart, and ends as a dead letter with five rows', async () => {
    const peer = await startReceiver((_, response) => response.writeHead(500).end())
    const companyId = await createCompany(db)
    const { id } = await register(db, companyId, { url: peer.url })
    const deliveries = await enqueueDeliveries(db, [envelope(companyId, 'wamid.B')])
    const waits: (number | null)[] = []
    for (let started = await startHeld(db, deliveries); started[0]; started = await startHeld(db, deliveries)) {
      const record = await makeAttempt(deps, started[0])
      await completeHeld(db, [record])
      waits.push(record.next instanceof Date ? record.next.getTime() - clock.now().getTime() : null)
    }
    expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, null])
    expect(peer.received).toHaveLength(5)
    const logs = await listLogs(db, companyId, id)
    expect(logs.map(({ attempt, deadLettered }) => [attempt, deadLettered])).toEqual([
      [5, true],
      [4, false],
      [3, false],
      [2, false],
      [1, false],
    ])
    expect(logs[0]!.errorMessage).toBe('dead-lettered after 5 attempts: the receiver answered 500')
    expect(logs[1]!.errorMessage).toBe('the receiver answered 500')
  })
})
