import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createCompany } from '../../../test/world.ts'
import { newEmailId } from '../../platform/ids.ts'
import { insertEmails } from '../email-store.ts'
import { newSecret } from '../tracking/tracking-token.ts'
import { completeEmails, markSubmitted, readEmailsToSend } from './email-delivery-store.ts'

const { db } = await createTestDatabase({ mirrors: true })

/** Mails that wait, with HTML of these lengths. */
async function waiting(...lengths: number[]) {
  const companyId = await createCompany(db)
  const mail = {
    companyId,
    templateId: null,
    recipient: 'ada@example.com',
    subject: 'Hello',
    messageId: '<1@example.org>',
    isMarketing: false,
    fromAddress: 'shop@example.org',
    fromName: null,
    replyTo: null,
    text: null,
    headers: {},
    trackOpens: true,
    trackClicks: true,
    tracking: { replacements: '', targets: [] },
    answer: null,
  }
  const mails = lengths.map((length) => ({ ...mail, uid: newEmailId(), secret: newSecret(), html: 'x'.repeat(length) }))
  await insertEmails(db, mails)
  const rows = await db<{ id: number }[]>`select id from emails where company_id = ${companyId} order by id`
  return rows.map(({ id }) => ({ companyId, id }))
}
const completed = { status: 'sent', failureReason: null } as const

test('a reading brings about a megabyte, and at least one mail', async () => {
  const keys = await waiting(400_000, 400_000, 400_000, 10)
  expect((await readEmailsToSend(db, keys)).map((email) => email?.id)).toEqual(keys.slice(0, 3).map(({ id }) => id))
  const large = await waiting(3_000_000, 3_000_000)
  expect((await readEmailsToSend(db, large)).map((email) => email?.html.length)).toEqual([3_000_000])
})

test('a completed, foreign or missing mail is undefined in its place', async () => {
  const [first, second, third] = await waiting(10, 10, 10)
  const [foreign] = await waiting(10)
  await completeEmails(db, [{ ...second!, ...completed }])
  const requested = [first!, second!, { companyId: first!.companyId, id: foreign!.id }, third!, { companyId: 0, id: 0 }]
  const emails = await readEmailsToSend(db, requested)
  expect(emails.map((email) => email?.id)).toEqual([first!.id, undefined, undefined, third!.id, undefined])
})

test('one attempt may hand a mail over until it is completed, however many ask at once', async () => {
  const [key] = await waiting(10)
  const item = { ...key!, targets: ['https://shop.example/'] }
  const answers = await Promise.all([markSubmitted(db, [item, item]), markSubmitted(db, [item])])
  expect(answers.flat().filter((mayGo) => mayGo)).toHaveLength(1)
  // A temporary refusal lets it go again, an end does not.
  await completeEmails(db, [{ ...key!, status: 'pending', failureReason: null }])
  expect(await markSubmitted(db, [item])).toEqual([true])
  await completeEmails(db, [{ ...key!, ...completed }])
  expect(await markSubmitted(db, [item])).toEqual([false])
})

test('the job of a mail ends with it, unless the attempt is repeated or another worker has the job', async () => {
  const keys = await waiting(10, 10, 10)
  const jobs = await db<{ id: number; claimId: string; subjectId: number }[]>`
    update jobs
    set claim_id = gen_random_uuid(), lease_until = now() + interval '1 hour'
    where company_id = ${keys[0]!.companyId}
    returning id, claim_id, subject_id
  `
  const jobOf = (id: number) => jobs.find(({ subjectId }) => subjectId === id)!
  const [ended, repeated, lost] = keys.map((key) => ({ ...key, ...completed, job: jobOf(key.id) }))
  await completeEmails(db, [
    ended!,
    { ...repeated!, status: 'pending' },
    { ...lost!, job: { ...lost!.job, claimId: ended!.job.claimId } },
  ])
  const left = await db<
    { subjectId: number }[]
  >`select subject_id from jobs where company_id = ${ended!.companyId} order by 1`
  expect(left.map(({ subjectId }) => subjectId)).toEqual([repeated!.id, lost!.id])
})
