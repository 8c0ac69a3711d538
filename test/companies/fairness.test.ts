import type { ServerResponse } from 'node:http'
import pino from 'pino'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Db } from '../../src/db/connect.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { createWorker } from '../../src/queue/worker.ts'
import { createDeliverer, type DeliverDeps } from '../../src/webhooks/attempts/deliver.ts'
import { createReceiverClient } from '../../src/webhooks/attempts/post.ts'
import { DELIVER } from '../../src/webhooks/deliveries/delivery-store.ts'
import { forwardMessages } from '../../src/webhooks/events/message-received.ts'
import { createTestDatabase } from '../database.ts'
import { type Receiver, startPeer, startReceiver } from '../receiver.ts'
import { eventually } from '../service.ts'
import { createCompany, register, testCipher } from '../webhook-fixture.ts'

const { db } = await createTestDatabase()
const stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
  await db`truncate jobs, deliveries, delivery_attempts, envelopes`
})

/** Longer than any test: an attempt at a receiver that hangs never ends, so waiting for one fails the test. */
const ENDLESS_MS = 600_000

/** The worker as the service has it, in this process, but for the deadline of an attempt. */
function startDeliveries(changes: Partial<DeliverDeps> = {}) {
  const receiver = createReceiverClient({ allowPrivate: true })
  const deliverer = createDeliverer({
    db,
    cipher: testCipher,
    clock: systemClock,
    receiver: { post: (target) => receiver.post({ ...target, timeoutMs: ENDLESS_MS }) },
    serviceName: 'Service',
    random: () => 0,
    log: pino({ level: 'silent' }),
    ...changes,
  })
  const worker = createWorker({ db, log: pino({ level: 'silent' }) }, [deliverer.kind])
  stops.push(async () => {
    deliverer.close()
    await worker.stop(0)
    await receiver.close()
  })
  return worker
}

const subscribe = async (url: string, companyId?: number) => {
  const company = companyId ?? (await createCompany(db))
  return { companyId: company, ...(await register(db, company, { url })) }
}

const forward = (companyId: number, count: number, prefix = 'w') =>
  db.begin((tx: Db) =>
    forwardMessages(
      tx,
      Array.from({ length: count }, (_, n) => ({
        companyId,
        senderId: 1,
        conversationId: null,
        wamid: `${prefix}${n}`,
        messageId: null,
        body: `{"n":${n}}`,
      })),
    ),
  )

/** Until each of the receivers has got so many. */
const haveGot = (receivers: Receiver[], count: number) =>
  vi.waitFor(
    () => {
      for (const { received } of receivers) expect(received.length).toBe(count)
    },
    { timeout: 60_000, interval: 5 },
  )

const endless = (response: ServerResponse) => {
  const timer = setInterval(() => response.write('x'.repeat(1_000)), 20)
  response.on('close', () => clearInterval(timer))
}

test('receivers that hang, drip, reset or stream without end cost the healthy ones nothing', {
  timeout: 300_000,
}, async () => {
  const hostile = [
    await startReceiver(() => {}),
    await startReceiver((_, response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write('.'), 300)
      response.on('close', () => clearInterval(timer))
    }),
    await startReceiver((request) => request.socket.resetAndDestroy()),
    await startReceiver((_, response) => endless(response)),
    await startPeer((socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\n')),
    await startPeer(() => {}),
  ]
  const healthy = await Promise.all(Array.from({ length: 14 }, () => startReceiver()))
  const bad = await Promise.all(hostile.map(({ url }) => subscribe(url)))
  const good = await Promise.all(healthy.map(({ url }) => subscribe(url)))
  startDeliveries()
  const ids = good.map(({ companyId }) => companyId)
  for (const { companyId } of bad) await forward(companyId, 300)
  await eventually(async () => hostile.every(({ opened }) => opened() >= 1))
  await Promise.all(ids.map((companyId) => forward(companyId, 50)))
  await haveGot(healthy, 50)
  // No attempt at those that hang has ended: the others did not wait for them.
  const [ended] = await db`
    select count(*) from delivery_attempts where registration_id = ${bad[0]!.id} and company_id = ${bad[0]!.companyId}
  `
  expect(ended?.count).toBe(0)
  for (const { open } of hostile) expect(open.size).toBeLessThanOrEqual(64)
})

test('a sibling of a dead receiver, in the same company, is served all the same', { timeout: 300_000 }, async () => {
  const companyId = await createCompany(db)
  const dead = await startReceiver(() => {})
  const healthy = await startReceiver()
  await subscribe(dead.url, companyId)
  await subscribe(healthy.url, companyId)
  startDeliveries()
  await forward(companyId, 500)
  await haveGot([healthy], 500)
  expect(dead.received.length).toBeLessThanOrEqual(64)
})

test('of 200 receivers of one company 140 never answer: the other 60 get every message of every round', {
  timeout: 300_000,
}, async () => {
  const companyId = await createCompany(db)
  const dead = await startReceiver(() => {})
  const healthy = await startReceiver()
  for (let n = 0; n < 200; n += 1) {
    const { url } = n % 10 < 7 ? dead : healthy
    await register(db, companyId, { url: `${url}${n}` })
  }
  const worker = startDeliveries()
  const rounds = 10
  for (let round = 1; round <= rounds; round += 1) {
    await forward(companyId, 5, `round${round}-`)
    worker.wake(DELIVER)
    // Each round arrives while no attempt at the dead ever ends: none of them holds what the healthy need.
    await haveGot([healthy], round * 5 * 60)
  }
  const [held] = await db`select count(*) as jobs from deliveries where claim_id is not null`
  // The dead share about 2,048 attempts in flight: alone, each has 64.
  expect(dead.received.length).toBeLessThan((140 * 64) / 2)
  expect(held?.jobs).toBeLessThan((140 * 64) / 2)
})

test('receivers of one company that refuse connections get no more than its share of attempts', {
  timeout: 300_000,
}, async () => {
  const companyId = await createCompany(db)
  const refusing = await startReceiver()
  await refusing.close()
  for (let n = 0; n < 20; n += 1) await register(db, companyId, { url: `${refusing.url}${n}` })
  const healthy = await startReceiver()
  const other = await subscribe(healthy.url)
  // The clock of the pace stands still: what a company has saved up is all that it gets.
  const worker = startDeliveries({ monotonic: () => 0 })
  const attempts = async () => (await db`select from delivery_attempts where company_id = ${companyId}`).length
  await forward(companyId, 300)
  for (let round = 1; round <= 20; round += 1) {
    await forward(other.companyId, 10, `round${round}-`)
    worker.wake(DELIVER)
    await haveGot([healthy], round * 10)
  }
  // 6,000 deliveries are due. Until its receivers are known to fail, a company has at most 2,048 attempts in flight.
  await eventually(async () => (await db`select from deliveries where claim_id is not null`).length === 0)
  const paced = await attempts()
  expect(paced).toBeLessThan(2_048 + 50)
  await db`update deliveries set due_at = now() where company_id = ${companyId} and status = 'pending'`
  for (let round = 21; round <= 30; round += 1) {
    await forward(other.companyId, 10, `round${round}-`)
    worker.wake(DELIVER)
    await haveGot([healthy], round * 10)
  }
  expect(await attempts()).toBe(paced)
})

describe('a backlog of 100,000 on a dead receiver', () => {
  test('is not felt by another company: each of its messages arrives while no attempt at the dead ever ends', {
    timeout: 180_000,
  }, async () => {
    const dead = await startReceiver(() => {})
    const { companyId, id } = await subscribe(dead.url)
    await db.begin(async (tx) => {
      // Rows that fit each other need not be checked one by one.
      await tx`set local session_replication_role = replica`
      await tx`
        insert into envelopes (company_id, event_id, event, body)
        select ${companyId}, 'b' || n, 'whatsapp.message.received', '{}' from generate_series(1, 100000) as n
      `
      await tx`
        insert into deliveries (company_id, registration_id, event, event_id)
        select ${companyId}, ${id}, 'whatsapp.message.received', 'b' || n from generate_series(1, 100000) as n
      `
    })
    const healthy = await startReceiver()
    const other = await subscribe(healthy.url)
    const worker = startDeliveries()
    await eventually(async () => dead.received.length === 64)
    for (let n = 1; n <= 20; n += 1) {
      await forward(other.companyId, 1, `n${n}-`)
      worker.wake(DELIVER)
      await eventually(async () => healthy.received.length === n)
    }
    const [ended] = await db`select count(*) from delivery_attempts where registration_id = ${id}`
    expect(ended?.count).toBe(0)
  })
})
