import { expect, test } from 'vitest'
import { holdOpen } from '../held-locks.ts'
import { eventually, startTestService, uniquePhone } from '../service.ts'

// When all connections are busy, a statement may go behind one that waits for a lock since a moment ago, and waits with it until
// the server ends that wait.
const limits = { statementMs: 60_000, lockMs: 20_000, idleInTransactionMs: 300_000 }
const service = await startTestService({ limits })
const { db } = service

const RECEIVER = { name: 'Receiver', url: 'https://receiver.example/', events: ['whatsapp.message.received'] }

/** The most connections that a company gets, alone for 5 s: the rest of the pool is left to the others. */
const MOST = 6

/** Statements with this text that wait for a lock. */
const blocked = async (text: string): Promise<number> => {
  const [row] = await db<{ n: number }[]>`
    select count(*)::int as n
    from pg_stat_activity
    where datname = current_database() and state = 'active' and wait_event_type = 'Lock' and query like ${`%${text}%`}`
  return row?.n ?? 0
}

test('requests of one company that wait for a lock leave the pool to the others', { timeout: 300_000 }, async () => {
  const loud = await service.createCompany()
  const other = await service.createCompany()
  const { body: registration } = await loud.api('POST', '/webhooks/registrations', RECEIVER)
  const release = await holdOpen(
    db,
    (tx) => tx`select from registrations where company_id = ${loud.companyId} for update`,
  )
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
  await eventually(async () => (await blocked('registrations')) >= 3)

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
    expect(await blocked('registrations')).toBeLessThanOrEqual(MOST)
  }
  isOver = true
  await release()
  const statuses = await Promise.all(flood)
  expect(statuses.every((status) => [200, 503].includes(status))).toBe(true)
})

test('the exports of one company are read a page at a time', { timeout: 300_000 }, async () => {
  const company = await service.createCompany()
  await company.api('POST', '/contacts', { email: 'ada@example.com' })
  const release = await holdOpen(db, 'lock table contacts in access exclusive mode')
  let arrived = 0
  service.app.server.on('request', ({ url }) => {
    if (url?.includes('/contacts/export')) arrived += 1
  })
  const exports = Array.from({ length: 8 }, () => company.api('GET', '/contacts/export?format=ndjson'))
  await eventually(async () => arrived === 8 && (await blocked('order by id')) > 0)
  // Answers to later requests of the company: all exports have been begun by then.
  for (let call = 0; call < 5; call += 1) expect((await company.api('GET', '/custom-fields')).status).toBe(200)
  expect(await blocked('order by id')).toBe(1)
  await release()
  for (const { status, text } of await Promise.all(exports)) {
    expect([status, text.trim().split('\n').length]).toEqual([200, 1])
  }
})
