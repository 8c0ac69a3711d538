import { randomBytes } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { OUTCOME_UNKNOWN } from '../src/emails/email-delivery.ts'
import { createTestDatabase } from './database.ts'
import { startMailServer } from './mail-server.ts'
import { dataFolder, startParley } from './parley-process.ts'
import { ADMIN_TOKEN, eventually } from './service.ts'

const MAILS = 120
const TAKEN = 40

test('a process that is killed in the middle of its mails: none is lost, none sent twice, and what nobody can know says so', async () => {
  /** Whose mails were ended at the server, answered or not, in their order. */
  const ended: string[] = []
  let isSilent = false
  let hasCrashed = false
  const server = await startMailServer({
    behave: (moment, { envelope }) => {
      if (moment !== 'END') return undefined
      ended.push(...envelope.rcptTo.map(({ address }) => address))
      isSilent ||= ended.length > TAKEN && !hasCrashed
      return isSilent ? 'hang' : undefined
    },
  })
  afterAll(() => server.stop())
  const { db, url } = await createTestDatabase()
  const env = {
    DATABASE_URL: url,
    DATA_DIR: dataFolder(),
    ADMIN_TOKEN,
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    SMTP_URL: server.url,
  }
  const first = await startParley(env)
  const call = async (path: string, body: object, token = ADMIN_TOKEN) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    const answer = await fetch(`${first.address}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    expect(answer.status).toBe(201)
    // biome-ignore lint/suspicious/noExplicitAny: what the test asserts
    return (await answer.json()) as any
  }
  const company = await call('/admin/v1/companies', { name: 'Acme', rateLimitPerMinute: 100_000 })
  const key = await call(`/admin/v1/companies/${company.id}/api-keys`, { name: 'Key', permissions: ['Transactional'] })
  const mail = { subject: 'Your order', html: '<p>Hello</p>', from: 'shop@example.org' }
  const readers = Array.from({ length: MAILS }, (_, place) => `reader-${place}@example.com`)
  await Promise.all(readers.map((to) => call('/public/v1/emails', { ...mail, to }, key.token)))

  await eventually(async () => isSilent)
  await first.signal('SIGKILL')
  const unanswered = new Set(ended.slice(TAKEN))
  expect(unanswered.size).toBeGreaterThan(0)
  hasCrashed = true
  isSilent = false
  const second = await startParley(env)
  const statuses = () => db<{ recipient: string; status: string; failureReason: string | null }[]>`
    select recipient, status, failure_reason from emails
  `
  await eventually(async () => (await statuses()).every(({ status }) => status !== 'pending'), 60_000)
  await second.signal('SIGTERM')

  expect(ended.toSorted()).toEqual([...new Set(ended)].toSorted())
  const emails = await statuses()
  expect(emails).toHaveLength(MAILS)
  for (const { recipient, status, failureReason } of emails) {
    if (status === 'sent') expect(ended).toContain(recipient)
    else expect(failureReason).toBe(OUTCOME_UNKNOWN)
    if (unanswered.has(recipient)) expect(status).toBe('failed')
  }
}, 120_000)
