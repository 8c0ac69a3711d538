import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { eventually, startTestService, uniquePhone } from '../service.ts'

const service = await startTestService()
const { db } = service

/** A listener keeps 511 connections for a process that is too busy to accept them. */
const CLIENTS = 400
/** Enough to be sure that requests are refused while others wait. */
const REFUSALS = CLIENTS / 2
/** Work that may be in flight when the database is back: statements on all connections, one batch of each kind. */
const IN_FLIGHT = 220

type Reply = { status: number; retryAfter: string | null }
const isRefusal = ({ status, retryAfter }: Reply): boolean => status === 503 && retryAfter === '1'

type Call = () => Promise<{ status: number; headers: Headers }>

/** Clients that call again as soon as they are answered, while another session holds the table, until enough were refused. */
async function overload(table: string, call: Call) {
  const replies: Reply[] = []
  let isOver = false
  const client = async () => {
    while (!isOver) {
      const { status, headers } = await call()
      replies.push({ status, retryAfter: headers.get('retry-after') })
      if (status === 503) await pause(100)
    }
  }
  const clients: Promise<void>[] = []
  await db
    .begin(async (tx) => {
      await tx`lock table ${tx(table)} in access exclusive mode`
      clients.push(...Array.from({ length: CLIENTS }, client))
      await eventually(async () => replies.filter(isRefusal).length >= REFUSALS)
    })
    .finally(() => {
      isOver = true
    })
  await Promise.all(clients)
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

test.each(kinds)('overload by $kind is refused early, leaves no stale work, and ends with the lock', {
  timeout: 240_000,
}, async ({ table, make }) => {
  const { company, call, done } = await make()
  expect((await call()).status).toBe(done)
  const before = await count(table, company.companyId)
  const replies = await overload(table, call)
  await eventually(async () => (await call()).status === done)
  expect(replies.every(({ status }) => [done, 429, 503].includes(status))).toBe(true)
  await pause(2_000)
  const accepted = replies.filter(({ status }) => status === done).length
  const stale = (await count(table, company.companyId)) - before - accepted - 1
  expect(stale).toBeLessThanOrEqual(IN_FLIGHT)
})

async function count(table: string, companyId: number): Promise<number> {
  const [row] = await db<{ n: number }[]>`select count(*)::int as n from ${db(table)} where company_id = ${companyId}`
  return row?.n ?? 0
}
