import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { ALL } from '../../test/lifetimes.ts'
import { createTwins, keepsRows } from '../../test/twins.ts'
import { findAged, haveAged, listCompaniesWith } from '../db/lifetime-store.ts'
import { markSubmitted, readEmailsToSend } from './delivery/email-delivery-store.ts'
import { agedEmails, deleteEmails, findEmailsTo } from './email-removal-store.ts'
import { insertEmails, listEmailsTo } from './email-store.ts'
import { findEmailTemplateCounts, markEmailTemplateRemoved } from './email-template-store.ts'
import { findMailed } from './tracking/tracking-store.ts'
import { createToken, newSecret, parseToken } from './tracking/tracking-token.ts'

// Companies whose mails and templates have the same ids.
const { db } = await createTestDatabase()
const ADDRESS = 'ada@example.com'
const SECRET = newSecret()

type Mail = { id?: number; status?: string; days?: number }

/** A mail with contents, links and clicks; its contents name the company. */
async function insertMail(companyId: number, { id = 1, status = 'sent', days = 0 }: Mail = {}): Promise<void> {
  await db`
    insert into emails (company_id, id, uid, recipient, subject, message_id, secret, is_marketing, status, created_at)
    values (
      ${companyId}, ${id}, ${`eml_${id}`}, ${ADDRESS}, 'Hi', '<1@a>', ${SECRET}, true, ${status},
      now() - make_interval(days => ${days})
    )
  `
  await db`
    insert into email_contents (company_id, email_id, from_address, html, headers, track_opens, track_clicks)
    values (${companyId}, ${id}, 'shop@example.com', ${`to ${companyId}`}, '{}', true, true)
  `
  await db`insert into email_links values (${companyId}, ${id}, '{https://example.com/}')`
  await db`insert into email_clicks (company_id, email_id, link, suspected_machine) values (${companyId}, ${id}, 1, false)`
}

const mailsOf = async (companyId: number) =>
  (await db<{ id: number }[]>`select id from emails where company_id = ${companyId} order by id`).map(({ id }) => id)

const OLD = agedEmails(30)

async function erase(companyId: number): Promise<void> {
  const found = await findEmailsTo(db, companyId, ADDRESS, 10)
  await deleteEmails(
    db,
    companyId,
    found.map(({ id }) => id),
  )
}

const expire = async (companyId: number) => deleteEmails(db, companyId, await findAged(db, companyId, OLD, ALL))

test('mails of two companies are sent with the contents and the server of each', async () => {
  const { companyId, twinId } = await createTwins(db)
  for (const id of [companyId, twinId]) {
    await insertMail(id, { status: 'pending' })
    await db`insert into email_settings (company_id, from_address, smtp_url) values (${id}, 'a@b.c', ${`smtp of ${id}`})`
  }
  const keys = [companyId, twinId].map((id) => ({ companyId: id, id: 1 }))
  for (const order of [keys, keys.toReversed()]) {
    const emails = await readEmailsToSend(db, order)
    expect(emails.map((email) => [email?.companyId, email?.html, email?.smtpUrl])).toEqual(
      order.map(({ companyId: id }) => [id, `to ${id}`, `smtp of ${id}`]),
    )
  }
})

test('the mails to an address are those of the company', async () => {
  const { companyId, twinId } = await createTwins(db)
  await insertMail(companyId, { id: 1 })
  await insertMail(twinId, { id: 2 })
  for (const [company, id] of [
    [companyId, 1],
    [twinId, 2],
  ] as const) {
    expect((await listEmailsTo(db, company, ADDRESS, 1_000, 10)).map((email) => email.id)).toEqual([id])
  }
})

test('a mail is submitted in its company', async () => {
  const { companyId, twinId } = await createTwins(db)
  for (const id of [companyId, twinId]) await insertMail(id, { status: 'pending' })
  const submitted = await keepsRows(db, twinId, () => markSubmitted(db, [{ companyId, id: 1, targets: ['x'] }]))
  expect(submitted).toEqual([true])
})

test('a token leads to the mail of its company', async () => {
  const { companyId, twinId } = await createTwins(db)
  for (const id of [companyId, twinId]) {
    await insertMail(id)
    await db`update emails set recipient = ${`${id}@example.com`} where company_id = ${id}`
  }
  for (const id of [companyId, twinId]) {
    const token = parseToken(createToken({ companyId: id, id: 1, secret: SECRET }, 'unsubscribe', 0), 'unsubscribe')
    expect(await findMailed(db, token!)).toEqual({ companyId: id, emailId: 1, recipient: `${id}@example.com` })
  }
})

test('an erasure deletes mails of its company with their contents, links and clicks', async () => {
  const { companyId, twinId } = await createTwins(db)
  for (const id of [companyId, twinId]) await insertMail(id)
  await keepsRows(db, twinId, () => erase(companyId))
  for (const table of ['emails', 'email_contents', 'email_links', 'email_clicks'])
    expect([table, ...(await db`select from ${db(table)} where company_id = ${companyId}`)]).toEqual([table])
})

test('old mails are deleted, though another company has newer ones with their ids', async () => {
  const { companyId, twinId } = await createTwins(db)
  await insertMail(companyId, { days: 31 })
  await insertMail(twinId)
  expect(await listCompaniesWith(db, haveAged(OLD), 100)).toEqual([companyId])
  await keepsRows(db, twinId, () => expire(companyId))
  expect(await mailsOf(companyId)).toEqual([])
})

test('a mail is kept, though another company has an older one with its id', async () => {
  const { companyId, twinId } = await createTwins(db)
  await insertMail(companyId, { days: 31 })
  await insertMail(companyId, { id: 2 })
  await insertMail(twinId, { id: 2, days: 31 })
  for (const id of [companyId, twinId]) await expire(id)
  expect([await mailsOf(companyId), await mailsOf(twinId)]).toEqual([[2], []])
})

test('old mails are deleted, though another company has a newer one with a lower id', async () => {
  const { companyId, twinId } = await createTwins(db)
  await insertMail(companyId)
  await insertMail(twinId, { id: 2, days: 31 })
  for (const id of await listCompaniesWith(db, haveAged(OLD), 100)) await expire(id)
  expect([await mailsOf(companyId), await mailsOf(twinId)]).toEqual([[1], []])
})

test('a template shows the counts of its company, and is removed in its company', async () => {
  const { companyId, twinId } = await createTwins(db)
  for (const [id, sent] of [[companyId, 1] as const, [twinId, 2] as const]) {
    await db`
      insert into email_templates (company_id, id, uid, name, subject, html, category, variables)
      overriding system value
      values (${id}, 1, 'tmpl_1', 'Order', 'Hi', 'Hi', 'UTILITY', '{}')
    `
    await db`insert into email_template_counts (company_id, template_id, sent) values (${id}, 1, ${sent})`
  }
  const counts = [await findEmailTemplateCounts(db, companyId, 1), await findEmailTemplateCounts(db, twinId, 1)]
  expect(counts.map((one) => one?.sent)).toEqual([1, 2])
  expect(await keepsRows(db, twinId, () => markEmailTemplateRemoved(db, companyId, 'tmpl_1'))).toBe(true)
})

test('a mail is accepted with the Idempotency-Key of its company', async () => {
  const { companyId, twinId } = await createTwins(db)
  await db`
    insert into idempotency_keys (company_id, id, client_id, method, path, key, digest, lease_until)
    overriding system value
    values (${twinId}, 1, 'client', 'POST', '/emails', 'key', '', now() + interval '1 minute')
  `
  const mail = {
    ...{ uid: 'eml_1', templateId: null, recipient: ADDRESS, subject: 'Hi', messageId: '<1@a>', secret: SECRET },
    ...{ isMarketing: false, fromAddress: 'a@b.c', fromName: null, replyTo: null, html: 'Hi', text: null, headers: {} },
    ...{ trackOpens: false, trackClicks: false, tracking: { replacements: '', targets: [] } },
    answer: { idempotencyId: 1, status: 201, body: '{}' },
  }
  const mails = [companyId, twinId].map((id) => ({ ...mail, companyId: id }))
  await insertEmails(db, mails)
  expect([await mailsOf(companyId), await mailsOf(twinId)].map(({ length }) => length)).toEqual([0, 1])
})
