import { randomBytes, randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { OUTCOME_UNKNOWN } from '../../src/emails/delivery/email-delivery.ts'
import { ADMIN_TOKEN } from '../api.ts'
import { createTestDatabase } from '../database.ts'
import { dataFolder, startParley } from '../parley-process.ts'
import { eventually } from '../service.ts'
import { expireLeases } from '../world.ts'
import { type Behave, startMailServer } from './mail-server.ts'

/** A process that can be killed and started again, a company in it, and its mail server. */
async function setUp(behave?: Behave) {
  const server = await startMailServer(behave ? { behave } : {})
  onTestFinished(() => server.stop())
  const { db, url } = await createTestDatabase()
  const env = {
    DATABASE_URL: url,
    DATA_DIR: dataFolder(),
    ADMIN_TOKEN,
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    SMTP_URL: server.url,
  }
  const parley = await startParley(env)
  const call = async (path: string, body: object, token = ADMIN_TOKEN) => {
    const idempotencyKey = { 'idempotency-key': randomUUID() }
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...idempotencyKey }
    const request = { method: 'POST', headers, body: JSON.stringify(body) }
    // A busy machine may answer 503: the call is repeated, as clients do.
    const answer = await eventually(async () => {
      const one = await fetch(`${parley.address}${path}`, request)
      return one.status === 503 ? undefined : one
    })
    expect(answer.status).toBe(201)
    // biome-ignore lint/suspicious/noExplicitAny: what the test asserts
    return (await answer.json()) as any
  }
  const company = await call('/admin/v1/companies', { name: 'Acme', rateLimitPerMinute: 100_000 })
  const key = await call(`/admin/v1/companies/${company.id}/api-keys`, { name: 'Key', permissions: ['Transactional'] })
  const html = '<p><a href="https://shop.example/">Hello</a></p>'
  const send = (to: string) =>
    call('/public/v1/emails', { to, subject: 'Your order', html, from: 'shop@example.org' }, key.token)
  const statuses = () => db<{ recipient: string; status: string; failureReason: string | null }[]>`
    select recipient, status, failure_reason from emails
  `
  const untilCompleted = () =>
    eventually(async () => (await statuses()).every(({ status }) => status !== 'pending'), 60_000)
  return { db, server, parley, restart: () => startParley(env), send, statuses, untilCompleted }
}

const MAILS = 120
const TAKEN = 40

test('a process that is killed in the middle of its mails: none is lost, none sent twice, and an unknown outcome says so', async () => {
  /** Whose mails were ended at the server, answered or not, in their order. */
  const ended: string[] = []
  let isSilent = false
  let hasCrashed = false
  const { db, parley, restart, send, statuses, untilCompleted } = await setUp((moment, { envelope }) => {
    if (moment !== 'END') return undefined
    ended.push(...envelope.rcptTo.map(({ address }) => address))
    isSilent = ended.length > TAKEN && !hasCrashed
    return isSilent ? 'hang' : undefined
  })
  await Promise.all(Array.from({ length: MAILS }, (_, place) => send(`reader-${place}@example.com`)))
  await eventually(async () => isSilent)
  await parley.signal('SIGKILL')
  const unanswered = new Set(ended.slice(TAKEN))
  hasCrashed = true
  await expireLeases(db)
  const second = await restart()
  await untilCompleted()
  await second.signal('SIGTERM')

  expect(ended.toSorted()).toEqual([...new Set(ended)].toSorted())
  const emails = await statuses()
  expect(emails).toHaveLength(MAILS)
  for (const { recipient, status, failureReason } of emails) {
    if (status === 'sent') expect(ended).toContain(recipient)
    else expect(failureReason).toBe(OUTCOME_UNKNOWN)
    if (unanswered.has(recipient)) expect(status).toBe('failed')
  }
}, 300_000)

test('a process that is killed in the middle of clicks: every one that it answered is counted', async () => {
  const { db, server, parley, restart, send, untilCompleted } = await setUp()
  await send('ada@example.com')
  await untilCompleted()
  const path = /href="http:\/\/[^/]+([^"]+)"/.exec(server.mails[0]?.html ?? '')?.[1]
  let answered = 0
  let isOver = false
  const readers = Array.from({ length: 32 }, async () => {
    while (!isOver) {
      const answer = await fetch(`${parley.address}${path}`, { redirect: 'manual' }).catch(() => undefined)
      if (answer?.status === 302) answered += 1
    }
  })
  await eventually(async () => answered > 300)
  await parley.signal('SIGKILL')
  isOver = true
  await Promise.all(readers)
  const second = await restart()
  const [row] = await db<{ counted: number; ledger: number }[]>`
    select click_count as counted, (select count(*)::int from email_clicks) as ledger from emails
  `
  expect(row!.counted).toBeGreaterThanOrEqual(answered)
  expect(row!.counted).toBeLessThanOrEqual(answered + readers.length)
  expect(row!.ledger).toBe(row!.counted)
  await second.signal('SIGTERM')
}, 300_000)
