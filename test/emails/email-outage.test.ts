import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { NO_EVENTS } from '../../src/changes/record-change.ts'
import { connect } from '../../src/db/connect.ts'
import { startEmbedded } from '../../src/db/embedded/start.ts'
import { migrate } from '../../src/db/migration/migrate.ts'
import { emailSendKind } from '../../src/emails/delivery/email-delivery.ts'
import { insertEmails } from '../../src/emails/email-store.ts'
import type { Mailer } from '../../src/mailers/mailer.ts'
import { createSmtpMailer } from '../../src/mailers/smtp/smtp-mailer.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { createCipher } from '../../src/secrets/secrets.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { createCompany } from '../world.ts'
import { startMailServer } from './mail-server.ts'

const folder = mkdtempSync(join(temporaryFolder(), 'parley-email-outage-'))
let database = await startEmbedded(folder)
const db = connect(database.url, { max: 2 })
const mailer = createSmtpMailer()
afterAll(async () => {
  mailer.close()
  await db.end({ timeout: 1 })
  await database.stop()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

/** One mail in the database, its delivery, and what the delivery reported. */
async function prepare(smtpUrl: string, send: Mailer['send'] = mailer.send) {
  await migrate(db)
  const companyId = await createCompany(db)
  const attempts: unknown[] = []
  const mail = {
    companyId,
    uid: `eml_${companyId}`,
    templateId: null,
    recipient: 'ada@example.com',
    subject: 'Hello',
    messageId: '<1@example.org>',
    secret: Buffer.alloc(32),
    isMarketing: false,
    fromAddress: 'shop@example.org',
    fromName: null,
    replyTo: null,
    html: '<p>Hello</p>',
    text: null,
    headers: {},
    trackOpens: true,
    trackClicks: true,
    tracking: { replacements: '', targets: [] },
    answer: null,
  }
  await insertEmails(db, [mail])
  const [row] = await db<{ id: number }[]>`select id from emails where company_id = ${companyId}`
  const kind = emailSendKind({
    db,
    clock: systemClock,
    cipher: createCipher([Buffer.alloc(32).toString('base64')]),
    mailer: { ...mailer, send },
    baseUrl: 'http://127.0.0.1',
    smtpUrl,
    findMarketingRefusal: async () => null,
    suppressRefused: async () => {},
    bounceDomain: undefined,
    readsPostedReports: false,
    recordEvents: NO_EVENTS,
    onAttempt: (...attempt) => attempts.push(attempt),
  })
  const times = { dueAt: new Date(), createdAt: new Date(), attempts: 0 }
  const job = { id: 1, claimId: randomUUID(), kind: kind.kind, lane: '', companyId, subjectId: row!.id, ...times }
  const deliver = () => kind.handle([job], new AbortController().signal)
  const stateOf = () => db`
    select status, failure_reason, submitted_at from emails where company_id = ${companyId}
  `
  return { deliver, stateOf, attempts }
}

test('answers of the mail server while the database was away are written when it is back', async () => {
  const server = await startMailServer({ beforeAnswer: () => database.stop() })
  const { deliver, stateOf } = await prepare(server.url)
  const ending = deliver()
  await expect.poll(() => server.mails.length).toBe(1)
  database = await startEmbedded(folder)
  expect(await ending).toEqual([{ outcome: 'selfCompleted' }])
  expect(await stateOf()).toMatchObject([{ status: 'sent', failureReason: null }])
  await server.stop()
}, 300_000)

test('a mail whose submission the database did not take is tried again at once, and is no fault of the mail server', async () => {
  const failed = Promise.withResolvers<void>()
  const server = await startMailServer({})
  const { deliver, stateOf, attempts } = await prepare(server.url, async (smtpUrl, mail, confirmSubmission) => {
    await database.stop()
    return mailer.send(smtpUrl, mail, () => confirmSubmission().finally(failed.resolve))
  })
  const ending = deliver()
  await failed.promise
  database = await startEmbedded(folder)
  expect(await ending).toMatchObject([{ outcome: 'retry', afterMs: 1_000, counts: false }])
  expect(attempts).toEqual([])
  expect(await stateOf()).toMatchObject([{ status: 'pending', submittedAt: null }])
  expect(server.mails).toEqual([])
  await server.stop()
}, 300_000)
