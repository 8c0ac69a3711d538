import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createCompany } from '../../test/world.ts'
import { newEmailId } from '../platform/ids.ts'
import { emailKey } from '../platform/text/email-address.ts'
import { emailLane } from './delivery/email-delivery.ts'
import { rekeyEmails } from './email-keys.ts'
import { findEmailsTo } from './email-removal-store.ts'
import { EMAIL_SEND, insertEmails, listEmailsTo } from './email-store.ts'
import { newSecret } from './tracking/tracking-token.ts'

const { db } = await createTestDatabase({ mirrors: true })

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

test('stores one job for each accepted mail, due at once', async () => {
  const [first, second] = [await createCompany(db), await createCompany(db)]
  expect(await insertEmails(db, [first, second, first].map(mailOf))).toEqual([true, true, true])
  const jobs = await db`select kind, lane, claim_id, due_at <= now() as is_due from jobs where company_id = ${first}`
  expect(jobs).toEqual(Array(2).fill({ kind: EMAIL_SEND, lane: emailLane(first), claimId: null, isDue: true }))
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
  expect(await findEmailsTo(db, companyId, emailKey('ΝΙΚΟΣ@example.com'), 10)).toHaveLength(3)
})

test('mails of an earlier version are found by their mailbox', async () => {
  const companyId = await createCompany(db)
  await insertEmails(db, [{ ...mailOf(companyId), recipient: 'ΝΙΚΟΣ@münchen.example' }])
  await db`update emails set recipient_key = null where company_id = ${companyId}`
  await rekeyEmails(db, companyId, async () => {})
  const found = await listEmailsTo(db, companyId, emailKey('νικος@MÜNCHEN.example'), Number.MAX_SAFE_INTEGER, 10)
  expect(found.map(({ recipient }) => recipient)).toEqual(['ΝΙΚΟΣ@xn--mnchen-3ya.example'])
})
