import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { receiveImport } from '../../src/contacts/import/contact-import.ts'
import { recordMedia } from '../../src/media/copy/copy-media.ts'
import { forwardMessages } from '../../src/webhooks/events/message-received.ts'
import { MAIL } from '../emails/email-world.ts'
import { startMailServer } from '../emails/mail-server.ts'
import { startReceiver } from '../receiver.ts'
import { createMediaMessage } from '../sends/media-world.ts'
import { eventually, startTestService, uniquePhone } from '../service.ts'

const { createCompany, operator, db, deps } = await startTestService({
  mirrors: true,
  config: { webhookAllowPrivate: true },
})

const KINDS = ['contacts.import', 'email.send', 'media.copy', 'message.send', 'templates.refresh', 'webhook.deliver']

/** Holds the lock of claimJobs meanwhile. */
const whileNothingIsClaimed = (work: () => Promise<void>) =>
  db.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(hashtextextended(kind, 7237455202)) from unnest(${KINDS}::text[]) as kind`
    await work()
  })

test('every background job of a removed company ends without effect: mail, delivery, import, media copy, templates', async () => {
  const { api, companyId, sender } = await createCompany()
  let isBusy = true
  const mailServer = await startMailServer({ behave: () => (isBusy ? { code: 421, message: 'Busy' } : undefined) })
  onTestFinished(() => mailServer.stop())
  const receiver = await startReceiver()
  await operator('PUT', `/companies/${companyId}/email-settings`, { from: 'shop@example.org', smtpUrl: mailServer.url })
  const registration = await api('POST', '/webhooks/registrations', {
    name: 'Receiver',
    url: receiver.url,
    events: ['whatsapp.message.received'],
  })
  expect(registration.status).toBe(201)
  expect((await api('POST', '/emails', MAIL)).status).toBe(201)
  await eventually(async () => (await db`select from jobs where kind = 'email.send' and attempts = 1`).length === 1)

  const scheduled = { recipient: uniquePhone(), type: 'template', template: { name: 'shipping_notice' } }
  const sendAt = new Date(Date.now() + 3_600_000).toISOString()
  expect((await api('POST', '/templates/whatsapp/send', { ...scheduled, sendAt })).status).toBe(202)

  expect((await operator('DELETE', `/companies/${companyId}`)).status).toBe(200)
  isBusy = false
  // Work that was on its way into the queue at the removal.
  await whileNothingIsClaimed(async () => {
    const list = Readable.from([Buffer.from('email\na@example.com\n')])
    await receiveImport(deps, companyId, { format: 'csv' }, list, null)
    await forwardMessages(db, [
      { companyId, wamid: 'wamid.1', messageId: null, senderId: 1, conversationId: null, body: '{}' },
    ])
    const media = await createMediaMessage(db, { providerMediaId: '1' }, { companyId, senderId: sender.channelId })
    await recordMedia(db, [media])
    const jobs = await db<{ kind: string }[]>`select kind from jobs where company_id = ${companyId} order by kind`
    const deliveries = await db`
      select 'webhook.deliver' as kind from deliveries where company_id = ${companyId} and status = 'pending'
    `
    expect([...jobs, ...deliveries].map(({ kind }) => kind)).toEqual(KINDS)
  })

  await eventually(async () => {
    await db`update jobs set due_at = now() where company_id = ${companyId} and claim_id is null and due_at > now()`
    const deliveries = await db`select from deliveries where company_id = ${companyId} and status = 'pending'`
    return (await db`select from jobs where company_id = ${companyId}`).length + deliveries.length === 0
  })
  expect(mailServer.mails).toEqual([])
  expect(receiver.received).toEqual([])
  expect(await db`select from messages where company_id = ${companyId} and direction = 'outbound'`).toHaveLength(0)
  expect(await db`select from contacts where company_id = ${companyId} and email is not null`).toHaveLength(0)
  expect(await db`select attempts from media where company_id = ${companyId}`).toEqual([{ attempts: 0 }])
})
