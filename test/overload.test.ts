import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startTestService, uniquePhone } from './service.ts'

const service = await startTestService()
const { db } = service

const FLOOD_MS = 5_000
const CLIENTS = 800
/** Work that may be in flight when the database is back: statements on all connections, one batch of each kind. */
const IN_FLIGHT = 220

type Call = () => Promise<{ status: number; headers: Headers }>

/** Clients that call again as soon as they are answered, while another session holds the table. */
async function overload(table: string, call: Call) {
  const replies: { status: number; retryAfter: string | null }[] = []
  const endsAt = performance.now() + FLOOD_MS
  const client = async () => {
    while (performance.now() < endsAt) {
      const { status, headers } = await call()
      replies.push({ status, retryAfter: headers.get('retry-after') })
      if (status === 503) await pause(100)
    }
  }
  await db.begin(async (tx) => {
    await tx`lock table ${tx(table)} in access exclusive mode`
    const clients = Array.from({ length: CLIENTS }, client)
    await pause(FLOOD_MS)
    void Promise.all(clients)
    await Promise.race([Promise.all(clients), pause(FLOOD_MS)])
  })
  return replies
}

const kinds = [
  {
    kind: 'requests with statements of their own',
    table: 'custom_fields',
    make: async () => {
      const company = await service.createCompany({ isConnected: false })
      const call = () => {
        const key = `K${randomUUID().replaceAll('-', '_').toUpperCase()}`
        return company.api('POST', '/custom-fields', { key, displayName: 'Field', type: 'text' })
      }
      return { company, call, done: 201 }
    },
  },
  {
    kind: 'sends, which share statements',
    table: 'messages',
    make: async () => {
      const company = await service.createCompany()
      const template = { name: 'shipping_notice' }
      const call = () =>
        company.api('POST', '/templates/whatsapp/send', { recipient: uniquePhone(), type: 'template', template })
      return { company, call, done: 200 }
    },
  },
]

test.each(kinds)('overload by $kind is refused early, leaves no stale work, and is over at once', {
  timeout: 90_000,
}, async ({ table, make }) => {
  const { company, call, done } = await make()
  expect((await call()).status).toBe(done)
  const before = await count(table, company.companyId)
  const replies = await overload(table, call)
  const [next, took] = await timed(call)
  expect(next.status).toBe(done)
  expect(took).toBeLessThan(5_000)
  const refused = replies.filter(({ status }) => status === 503)
  // On an idle machine each client is refused many times.
  expect(refused.filter(({ retryAfter }) => retryAfter === '1').length).toBeGreaterThan(CLIENTS / 4)
  expect(replies.every(({ status }) => [done, 429, 503].includes(status))).toBe(true)
  await pause(2_000)
  const accepted = replies.filter(({ status }) => status === done).length
  const stale = (await count(table, company.companyId)) - before - accepted - 1
  expect(stale).toBeLessThanOrEqual(IN_FLIGHT)
})

async function timed<T>(act: () => Promise<T>): Promise<[T, number]> {
  const startedAt = performance.now()
  return [await act(), performance.now() - startedAt]
}

async function count(table: string, companyId: number): Promise<number> {
  const [row] = await db<{ n: number }[]>`select count(*)::int as n from ${db(table)} where company_id = ${companyId}`
  return row?.n ?? 0
}
