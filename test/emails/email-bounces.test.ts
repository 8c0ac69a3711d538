import { describe, expect, test } from 'vitest'
import { eventually } from '../service.ts'
import { changesOf, contactOf, DOMAIN, startBounces, subscribe } from './bounce-world.ts'
import { AUTOMATIC_ANSWER, dsn } from './dsn.ts'
import { uniqueAddress } from './email-world.ts'
import { startMailServer } from './mail-server.ts'

const { port, mailing, createMailing, statsOf, operator, db, get, linksOf, received, report, mailed } =
  await startBounces()

describe('a notification at the return path', () => {
  test('of a permanent failure: the mail is bounced, the event comes once, the contact is suppressed for marketing', async () => {
    const { api, send: sendMarketing, companyId } = await createMailing({ category: 'MARKETING' })
    const { id, to, returnPath } = await mailed(api)
    await api('POST', '/contacts', { email: to })
    expect(await contactOf(api, to)).not.toHaveProperty('email_suppression')
    const receiver = await subscribe(api, ['email.status', 'contact.changed'])

    expect((await report(returnPath)).code).toBe(250)
    expect(await statsOf(api, id)).toMatchObject({
      status: 'bounced',
      failureReason: '550 5.1.1 No such user',
      bouncedAt: expect.stringMatching(/Z$/),
      complainedAt: null,
    })
    expect((await report(returnPath.toUpperCase())).code).toBe(250)
    await eventually(async () => receiver.received.length >= 2)
    await eventually(
      async () =>
        (
          await db`
      select from deliveries where company_id = ${companyId} and status = 'pending'
    `
        ).length === 0,
    )
    const events = changesOf(receiver)
    expect(events).toHaveLength(2)
    expect(events.find(({ event }) => event === 'email.status')).toMatchObject({
      id: `${id}.bounced`,
      change: 'bounced',
      data: { id, status: 'bounced' },
    })
    const suppression = { reason: 'bounce', since: expect.stringMatching(/Z$/) }
    expect(events.find(({ event }) => event === 'contact.changed')).toMatchObject({
      change: 'updated',
      data: { email: to, email_suppression: suppression },
    })
    expect(await contactOf(api, to)).toMatchObject({ email_suppression: suppression })

    expect(await sendMarketing(to)).toMatchObject({
      status: 403,
      body: { error: { code: 'forbidden', message: expect.stringContaining('bounced') } },
    })
    // Other mail still goes there.
    expect((await api('POST', '/emails', { to, subject: 'S', html: 'H', from: 'shop@example.org' })).status).toBe(201)

    const path = `/companies/${companyId}/email-suppressions`
    expect((await operator('GET', path)).body).toMatchObject([{ address: to, reason: 'bounce' }])
    const other = await createMailing()
    const theirs = `/companies/${other.companyId}/email-suppressions/${encodeURIComponent(to)}`
    expect((await operator('DELETE', theirs)).status).toBe(404)
    expect((await operator('GET', path)).body).toHaveLength(1)
    expect((await operator('DELETE', `${path}/${encodeURIComponent(to.toUpperCase())}`)).status).toBe(200)
    expect(await operator('DELETE', `${path}/${encodeURIComponent(to)}`)).toMatchObject({
      status: 404,
      body: { message: 'Suppression not found' },
    })
    expect(await contactOf(api, to)).not.toHaveProperty('email_suppression')
    expect((await sendMarketing(to)).status).toBe(200)
  })

  test('of a temporary failure: the mail is bounced, and its address is not suppressed', async () => {
    const { api, companyId } = await createMailing()
    const { id, returnPath } = await mailed(api)
    expect((await report(returnPath, dsn({ status: '4.4.7', diagnostic: 'smtp; 451 Expired' }))).code).toBe(250)
    expect(await statsOf(api, id)).toMatchObject({ status: 'bounced', failureReason: '451 Expired' })
    expect(await db`select from email_suppressions where company_id = ${companyId}`).toHaveLength(0)
  })

  test.each([
    ['a delay', dsn({ action: 'delayed', status: '4.4.1' })],
    ['an automatic answer', AUTOMATIC_ANSWER],
  ])('of %s is accepted and changes nothing', async (_name, raw) => {
    const { api } = await createMailing()
    const { id, returnPath } = await mailed(api)
    expect((await report(returnPath, raw)).code).toBe(250)
    expect((await statsOf(api, id)).status).toBe('sent')
  })

  test('bounces are not counted out of the rates of a template', async () => {
    const { api, send, template } = await createMailing()
    const to = uniqueAddress()
    const { id } = (await send(to)).body.data
    await mailing.untilCompleted(api, id)
    const [arrived] = await received(to)
    await report(arrived.envelope.from)
    await get(linksOf(arrived.html).pixel)
    const { body } = await api('GET', `/transactionals/${template.transactionalId}/stats`)
    expect(body.data).toMatchObject({ totalMessagesSent: 1, openRate: '100%', totalBounced: 1, totalComplaints: 0 })
  })

  test('a mail with a returned mail of many megabytes is read', async () => {
    const { api } = await createMailing()
    const { id, returnPath } = await mailed(api)
    expect((await report(returnPath, dsn({ more: 'x\r\n'.repeat(1_000_000) }))).code).toBe(250)
    expect((await statsOf(api, id)).status).toBe('bounced')
  })

  test('of a mail whose outcome is unknown: it is counted as sent, and bounced', async () => {
    const company = await createMailing()
    let isGone = true
    const server = await startMailServer({ behave: (moment) => (moment === 'END' && isGone ? 'drop' : undefined) })
    await operator('PUT', `/companies/${company.companyId}/email-settings`, {
      from: 'shop@example.org',
      smtpUrl: server.url,
    })
    const to = uniqueAddress()
    const { id } = (await company.send(to)).body.data
    expect(await mailing.untilCompleted(company.api, id)).toMatchObject({ status: 'failed' })
    isGone = false
    const [row] = await db<{ id: number; secret: Buffer }[]>`
      select id, secret from emails where (company_id, uid) = (${company.companyId}, ${id})
    `
    const { createReportToken } = await import('../../src/emails/tracking/tracking-token.ts')
    const { returnPath } = await import('../../src/emails/tracking/tracking-token.ts')
    const token = createReportToken({ companyId: company.companyId, ...row! })
    expect((await report(returnPath(DOMAIN, token))).code).toBe(250)
    expect((await statsOf(company.api, id)).status).toBe('bounced')
    expect(await db`select sent from email_template_counts where company_id = ${company.companyId}`).toMatchObject([
      { sent: 1 },
    ])
    await server.stop()
  })
})

describe('a refusal in the session', () => {
  test.each([
    ['User unknown', 550, '5.1.1 User unknown', 'bounce'],
    ['User unknown without a code', 550, 'No such user here', 'bounce'],
    ['a blocklist', 550, '5.7.1 Client host blocked using zen.spamhaus.org', undefined],
    ['a full mailbox', 552, 'Mailbox is full', undefined],
    ['an unknown reason', 554, 'Transaction failed', undefined],
    ['a temporary one', 450, '4.1.1 User unknown', undefined],
  ])('for %s suppresses the address or not', async (_name, code, message, reason) => {
    const { api, companyId } = await createMailing()
    const server = await startMailServer({ behave: (moment) => (moment === 'RCPT' ? { code, message } : undefined) })
    const settings = { from: 'shop@example.org', smtpUrl: server.url }
    await operator('PUT', `/companies/${companyId}/email-settings`, settings)
    const to = uniqueAddress()
    await api('POST', '/contacts', { email: to })
    const receiver = await subscribe(api, ['contact.changed'])
    const { id } = (await api('POST', '/emails', { to, subject: 'Hi', html: 'Hi' })).body.data
    await eventually(
      async () =>
        (await db`select from jobs where company_id = ${companyId} and kind = 'email.send' and attempts = 0`).length ===
        0,
    )
    if (code >= 500) expect(await mailing.untilCompleted(api, id)).toMatchObject({ status: 'failed' })
    expect((await contactOf(api, to)).email_suppression?.reason).toBe(reason)
    if (reason !== undefined) await eventually(async () => receiver.received.length === 1)
    await server.stop()
  })
})

describe('the mail server of return paths', () => {
  test('refuses every other recipient', async () => {
    const { api } = await createMailing()
    const { id, returnPath } = await mailed(api)
    const [local = ''] = returnPath.split('@')
    const forged = `${local.slice(0, -1)}${local.endsWith('0') ? '1' : '0'}`
    for (const to of [`${forged}@${DOMAIN}`, `${local}@example.net`, `postmaster@${DOMAIN}`, `bounce+@${DOMAIN}`]) {
      expect(await report(to)).toMatchObject({ code: 550 })
    }
    expect((await statsOf(api, id)).status).toBe('sent')
  })

  test('answers 451 while the report cannot be written, and 250 to its repetition', async () => {
    const { api, companyId } = await createMailing()
    const { id, returnPath } = await mailed(api)
    await db`create table held_reports ()`
    await db.unsafe(`
      create function refuse_report() returns trigger language plpgsql as $$ begin raise 'disk full'; end $$;
      create trigger refuse_report before insert on email_suppressions for each row
      when (new.company_id = ${companyId}) execute function refuse_report()
    `)
    expect((await report(returnPath)).code).toBe(451)
    expect((await statsOf(api, id)).status).toBe('sent')
    await db.unsafe(
      'drop trigger refuse_report on email_suppressions; drop function refuse_report; drop table held_reports',
    )
    expect((await report(returnPath)).code).toBe(250)
    expect((await statsOf(api, id)).status).toBe('bounced')
  })

  test('looks up no more recipients after twenty of a session', async () => {
    const { createConnection } = await import('node:net')
    const socket = createConnection(port, '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    const lines = () => text.split('\r\n').length - 1
    const command = async (line: string) => {
      const before = lines()
      socket.write(`${line}\r\n`)
      await eventually(async () => lines() > before)
    }
    await eventually(async () => text.startsWith('220'))
    await command('HELO mx.example.com')
    await command('MAIL FROM:<>')
    for (let count = 0; count < 21; count += 1) await command(`RCPT TO:<bounce+${'0'.repeat(48)}@${DOMAIN}>`)
    socket.destroy()
    expect(text.split('\r\n').filter((line) => line.startsWith('550'))).toHaveLength(20)
    expect(text.split('\r\n').filter((line) => line.startsWith('421'))).toHaveLength(1)
  })
})
