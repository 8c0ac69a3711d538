import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createCompany } from '../../test/world.ts'
import { newEmailId } from '../platform/ids.ts'
import { emailKey } from '../platform/text/email-address.ts'
import type { DirectDispatch } from '../queue/job.ts'
import { emailLane } from './delivery/email-delivery.ts'
import { rekeyEmails } from './email-keys.ts'
import { eraseEmails } from './email-removal-store.ts'
import { EMAIL_SEND, insertEmails, listEmailsTo } from './email-store.ts'
import { newSecret } from './tracking/tracking-token.ts'

const { db } = await createTestDatabase({ mirrors: true })
const worker: DirectDispatch = { kind: EMAIL_SEND, fullLanes: [], fullCompanies: [], leaseMs: 15_000, madeAtMs: 0 }

const mailOf = (companyId: number) => ({
  companyId,
  uid: newEmailId(),
  templateId: null,
  recipient: 'ada@example.com',
  subject: 'Hello',
  messageId: '<1@example.org>',
  secret: newSecret(),
  isMarketing: false,
  fromAddress: 'shop@example.org',
  fromName: null,
  replyTo: null,
  html: 'x',
  text: null,
  headers: {},
  trackOpens: true,
  trackClicks: true,
  tracking: { replacements: '', targets: [] },
  answer: null,
})

const accept = (companyIds: readonly number[], dispatch?: DirectDispatch) =>
  insertEmails(db, companyIds.map(mailOf), dispatch)

const storedJobs = (companyId: number) =>
  db`select id, kind, lane, claim_id, lease_until > now() + interval '10 s' as is_leased from jobs where company_id = ${companyId}`

test('mails are leased to the worker that accepts them, one claim for each company', async () => {
  const [first, second] = [await createCompany(db), await createCompany(db)]
  const { areAccepted, leased, hasWaiting } = await accept([first, second, first], worker)
  expect([areAccepted, hasWaiting]).toEqual([[true, true, true], false])
  expect(new Set(leased.map(({ claimId }) => claimId)).size).toBe(2)
  const own = leased.filter(({ companyId }) => companyId === first)
  expect(own).toMatchObject(Array(2).fill({ kind: EMAIL_SEND, lane: emailLane(first), attempts: 0 }))
  const stored = own.map(({ id, kind, lane, claimId }) => ({ id, kind, lane, claimId, isLeased: true }))
  expect(await storedJobs(first)).toEqual(stored)
})

test('mails are found by any spelling of their mailbox', async () => {
  const companyId = await createCompany(db)
  const spellings = ['ΝΙΚΟΣ@example.com', 'Νικος@example.com', 'νικος@example.com']
  await insertEmails(
    db,
    spellings.map((recipient) => ({ ...mailOf(companyId), recipient })),
  )
  const found = await listEmailsTo(db, companyId, emailKey('ΝΙΚΟΣ@example.com'), Number.MAX_SAFE_INTEGER, 10)
  expect(found.map(({ recipient }) => recipient)).toEqual(spellings.toReversed())
  expect(await eraseEmails(db, companyId, emailKey('ΝΙΚΟΣ@example.com'), 10)).toHaveLength(3)
})

test('mails of an earlier version are found by their mailbox', async () => {
  const companyId = await createCompany(db)
  await insertEmails(db, [{ ...mailOf(companyId), recipient: 'ΝΙΚΟΣ@münchen.example' }])
  await db`update emails set recipient_key = null where company_id = ${companyId}`
  await rekeyEmails(db, companyId, async () => {})
  const found = await listEmailsTo(db, companyId, emailKey('νικος@MÜNCHEN.example'), Number.MAX_SAFE_INTEGER, 10)
  expect(found.map(({ recipient }) => recipient)).toEqual(['ΝΙΚΟΣ@xn--mnchen-3ya.example'])
})

test('without a worker, in a full lane and behind mails that wait they are left to a claim', async () => {
  const companyId = await createCompany(db)
  const full = { ...worker, fullLanes: [emailLane(companyId)] }
  for (const dispatch of [full, undefined, worker]) {
    expect(await accept([companyId], dispatch)).toEqual({ areAccepted: [true], leased: [], hasWaiting: true })
  }
  // A mail that is tried again later holds up no new one.
  await db`update jobs set due_at = now() + interval '1 hour' where company_id = ${companyId}`
  expect(await accept([companyId], worker)).toMatchObject({ leased: [{ companyId }], hasWaiting: false })
})
