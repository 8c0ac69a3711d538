import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { eventually, startTestService, uniquePhone } from '../service.ts'

// When all connections are busy, a statement may go behind one that waits for a lock since a moment ago, and waits with it until
// the server ends that wait.
const limits = { statementMs: 60_000, lockMs: 20_000, idleInTransactionMs: 300_000 }
const service = await startTestService({ limits })
const { db } = service

const RECEIVER = { name: 'Receiver', url: 'https://receiver.example/', events: ['whatsapp.message.received'] }

/** Statements that wait for a row lock. */
const blocked = async (): Promise<number> => {
  const [row] = await db<{ n: number }[]>`
    select count(*)::int as n
    from pg_stat_activity
    where datname = current_database() and state = 'active' and wait_event_type = 'Lock'`
  return row?.n ?? 0
}

test('requests of one company that wait for a lock leave the pool to the others', { timeout: 300_000 }, async () => {
  const loud = await service.createCompany()
  const other = await service.createCompany()
  const { body: registration } = await loud.api('POST', '/webhooks/registrations', RECEIVER)
  const free = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const holder = db.begin(async (tx) => {
    await tx`select from registrations where company_id = ${loud.companyId} for update`
    locked.resolve()
    await free.promise
  })
  await locked.promise
  const path = `/webhooks/registrations/${registration.id}`
  expect((await other.api('GET', '/contacts')).status).toBe(200)
  let isOver = false
  // Waiting requests are refused after a while: each is sent again until the lock is free.
  const flood = Array.from({ length: 100 }, async () => {
    for (;;) {
      const { status } = await loud.api('PUT', path, { name: 'Renamed' })
      if (status !== 503 || isOver) return status
    }
  })
  await eventually(async () => (await blocked()) === 3)

  const template = { name: 'shipping_notice' }
  for (let round = 0; round < 5; round += 1) {
    const answers = await Promise.all([
      other.api('GET', '/contacts'),
      other.api('POST', '/contacts', { email: `person${round}@example.com` }),
      other.api('POST', '/webhooks/registrations', RECEIVER),
      other.api('POST', '/templates/whatsapp/send', { recipient: uniquePhone(), type: 'template', template }),
      loud.api('POST', '/templates/whatsapp/send', { recipient: uniquePhone(), type: 'template', template }),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 201, 200, 200])
    expect(await blocked()).toBeLessThanOrEqual(3)
  }
  isOver = true
  free.resolve()
  await holder
  const statuses = await Promise.all(flood)
  expect(statuses.every((status) => [200, 503].includes(status))).toBe(true)
})

test('the exports of one company are read a page at a time', { timeout: 300_000 }, async () => {
  const company = await service.createCompany()
  await company.api('POST', '/contacts', { email: 'ada@example.com' })
  const free = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const holder = db.begin(async (tx) => {
    await tx`lock table contacts in access exclusive mode`
    locked.resolve()
    await free.promise
  })
  await locked.promise
  const exports = Array.from({ length: 8 }, () => company.api('GET', '/contacts/export?format=ndjson'))
  await eventually(async () => (await blocked()) > 0)
  await sleep(500)
  expect(await blocked()).toBe(1)
  free.resolve()
  await holder
  for (const { status, text } of await Promise.all(exports)) {
    expect([status, text.trim().split('\n').length]).toEqual([200, 1])
  }
})
