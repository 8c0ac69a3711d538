import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { OUTCOME_UNKNOWN } from '../../src/emails/delivery/email-delivery.ts'
import { completeEmails } from '../../src/emails/delivery/email-delivery-store.ts'
import { eventually } from '../service.ts'
import { type Api, MAIL, startMailing, uniqueAddress } from './email-world.ts'
import { startMailServer } from './mail-server.ts'

const { createCompany, control, operator, db, statsOf, untilCompleted, received, deliver, get } = await startMailing()

describe('the mail server', () => {
  test('that refuses permanently makes it failed, with its message', async () => {
    const { api } = await createCompany({ isConnected: false })
    await control('PUT', '/behaviour', { refuseMailWith: 550 })
    const sent = await api('POST', '/emails', MAIL)
    expect(await untilCompleted(api, sent.body.data.id)).toMatchObject({
      status: 'failed',
      failureReason: expect.stringMatching(/^550 .*Mailbox unavailable/),
    })
  })

  test('that refuses for now is asked again after 1, 2, 4 … minutes', async () => {
    const { api, companyId } = await createCompany({ isConnected: false })
    await control('PUT', '/behaviour', { refuseMailWith: 450 })
    const to = uniqueAddress()
    const sent = await api('POST', '/emails', { ...MAIL, to })
    const waits: number[] = []
    for (const attempts of [1, 2, 3]) {
      const job = await eventually(async () => {
        const [row] = await db`
          select attempts, extract(epoch from due_at - now())::float as wait, last_error
          from jobs where company_id = ${companyId} and claim_id is null and attempts = ${attempts}`
        return row
      })
      waits.push(Math.round(job.wait / 60))
      expect(job.lastError).toMatch(/^450 /)
      expect((await statsOf(api, sent.body.data.id)).status).toBe('pending')
      if (attempts === 3) await control('PUT', '/behaviour', { refuseMailWith: null })
      await db`update jobs set due_at = now() where company_id = ${companyId}`
    }
    expect(waits).toEqual([1, 2, 4])
    expect(await untilCompleted(api, sent.body.data.id)).toMatchObject({ status: 'sent', failureReason: null })
    expect(await received(to)).toHaveLength(1)
  })

  test('that refuses for 24 hours is given up, with its last message', async () => {
    const { api, companyId } = await createCompany({ isConnected: false })
    await control('PUT', '/behaviour', { refuseMailWith: 421 })
    const sent = await api('POST', '/emails', MAIL)
    await eventually(
      async () => (await db`select from jobs where company_id = ${companyId} and attempts = 1`).length > 0,
    )
    await db`update emails set created_at = created_at - interval '23 hours 59 minutes' where company_id = ${companyId}`
    await db`update jobs set due_at = now() where company_id = ${companyId}`
    expect(await untilCompleted(api, sent.body.data.id)).toMatchObject({
      status: 'failed',
      failureReason: expect.stringMatching(/^421 /),
    })
  })

  test('that cannot be reached is tried again later', async () => {
    const { api, companyId } = await createCompany({ isConnected: false })
    await operator('PUT', `/companies/${companyId}/email-settings`, {
      from: 'shop@example.org',
      smtpUrl: 'smtp://127.0.0.1:1',
    })
    const sent = await api('POST', '/emails', MAIL)
    await eventually(
      async () => (await db`select from jobs where company_id = ${companyId} and attempts = 1`).length > 0,
    )
    expect((await statsOf(api, sent.body.data.id)).status).toBe('pending')
  })

  test('of a company is its own', async () => {
    const { api, companyId } = await createCompany({ isConnected: false })
    const asked: string[] = []
    const server = createServer((socket) => {
      asked.push('connected')
      socket.end('554 No mail here, says the company’s own server\r\n')
    }).listen(0, '127.0.0.1')
    await eventually(async () => server.listening)
    const { port } = server.address() as { port: number }
    await operator('PUT', `/companies/${companyId}/email-settings`, {
      from: 'shop@example.org',
      smtpUrl: `smtp://user:secret@127.0.0.1:${port}`,
    })
    const sent = await api('POST', '/emails', MAIL)
    const lastErrors = () => db<{ lastError: string }[]>`
      select last_error from jobs where company_id = ${companyId} and attempts = 1
    `
    // A greeting that refuses concerns the server and not the mail.
    await eventually(async () => (await lastErrors()).length > 0)
    expect(await lastErrors()).toEqual([{ lastError: expect.stringContaining('554 No mail here') }])
    expect((await statsOf(api, sent.body.data.id)).status).toBe('pending')
    expect(asked.length).toBeGreaterThan(0)
    server.close()
  })

  test('that refuses the login is tried again later, shown in /readyz and counted; a mail that it takes ends both', async () => {
    const { api, companyId } = await createCompany({ isConnected: false })
    const mailServer = await startMailServer({
      server: {
        onAuth: ({ password }, _session, done) =>
          password === 'right'
            ? done(null, { user: 'shop' })
            : done(Object.assign(new Error('Authentication failed'), { responseCode: 535 })),
      },
    })
    const setPassword = (password: string) =>
      operator('PUT', `/companies/${companyId}/email-settings`, {
        from: 'shop@example.org',
        smtpUrl: mailServer.url.replace('smtp://', `smtp://shop:${password}@`),
      })
    const failing = async () => {
      const ready: { details: { mail: { failingCompanies: number } } } = JSON.parse(await (await get('/readyz')).text())
      return ready.details.mail.failingCompanies
    }
    const metric = async (line: string) => (await (await get('/metrics')).text()).includes(line)
    const before = await failing()

    await setPassword('wrong')
    const sent = await api('POST', '/emails', MAIL)
    await eventually(
      async () => (await db`select from jobs where company_id = ${companyId} and attempts = 1`).length > 0,
    )
    expect((await statsOf(api, sent.body.data.id)).status).toBe('pending')
    expect(await failing()).toBe(before + 1)
    // The metrics are computed once a second.
    await eventually(() => metric('parley_mail_servers_failing{fault="login"} 1'))
    expect(await metric('parley_email_attempts_total{outcome="login"} 1')).toBe(true)

    await setPassword('right')
    await db`update jobs set due_at = now() where company_id = ${companyId}`
    expect(await untilCompleted(api, sent.body.data.id)).toMatchObject({ status: 'sent' })
    expect(await failing()).toBe(before)
    await eventually(async () => !(await metric('parley_mail_servers_failing{fault="login"} 1')))
    await mailServer.stop()
  })
})

describe('after a crash', () => {
  const stopped = { refuseMailWith: 450 }
  /** A mail whose attempt ended before the server had it, its job waiting. */
  async function waiting(api: Api, companyId: number, html = MAIL.html) {
    await control('PUT', '/behaviour', stopped)
    const to = uniqueAddress()
    const sent = await api('POST', '/emails', { ...MAIL, html, to })
    await eventually(
      async () =>
        (await db`select from jobs where company_id = ${companyId} and attempts = 1 and claim_id is null`).length > 0,
    )
    await control('PUT', '/behaviour', { refuseMailWith: null })
    return { to, id: sent.body.data.id as string }
  }

  test('before the server had the end of the mail, it is sent, once and under the same Message-ID', async () => {
    const { api, companyId } = await createCompany({ isConnected: false })
    const { to, id } = await waiting(api, companyId)
    const [before] = await db`select message_id, submitted_at from emails where company_id > 0 and uid = ${id}`
    expect(before?.submittedAt).toBeNull()
    await db`update jobs set due_at = now() where company_id = ${companyId}`
    expect((await untilCompleted(api, id)).status).toBe('sent')
    const mails = await received(to)
    expect(mails.map(({ headers }: { headers: Record<string, string> }) => headers['message-id'])).toEqual([
      before?.messageId,
    ])
  })

  test.each([
    ['did not find beforehand what is tracked', null],
    ['kept what is tracked in another form', { places: [[0, 1, 1]], targets: ['https://other.example/'] }],
  ])('of an older Parley, which %s, a mail is tracked all the same', async (_, tracking) => {
    const { api, companyId } = await createCompany({ isConnected: false })
    const { to, id } = await waiting(api, companyId, '<a href="https://shop.example/">See it</a>')
    const cleared =
      await db`update email_contents set tracking = ${tracking && db.json(tracking)} where company_id = ${companyId} returning tracking`
    expect(cleared).toHaveLength(1)
    await db`update jobs set due_at = now() where company_id = ${companyId}`
    expect((await untilCompleted(api, id)).status).toBe('sent')
    const [mail] = await received(to)
    expect(mail.html).toMatch(/<a href="[^"]*\/public\/v1\/c\/[A-Za-z0-9_-]{44}"/)
    expect(mail.html).toMatch(/<img src="[^"]*\/public\/v1\/o\/[A-Za-z0-9_-]{44}"/)
  })

  test('after it had the end and before its answer was kept, it is not sent again, and says so', async () => {
    const { api, companyId } = await createCompany({ isConnected: false })
    const { to, id } = await waiting(api, companyId)
    await db`update emails set submitted_at = now() where uid = ${id} and company_id = ${companyId}`
    await db`update jobs set due_at = now() where company_id = ${companyId}`
    expect(await untilCompleted(api, id)).toMatchObject({ status: 'failed', failureReason: OUTCOME_UNKNOWN })
    expect(await received(to)).toEqual([])

    // The answer that arrives after all is the truth.
    const [row] = await db<{ id: number }[]>`select id from emails where company_id > 0 and uid = ${id}`
    await completeEmails(db, [{ companyId, id: row!.id, status: 'sent', failureReason: null }])
    expect(await statsOf(api, id)).toMatchObject({ status: 'sent', failureReason: null })
  })

  test('of the server, after it had the end and without an answer, it is not sent again either', async () => {
    const { api, companyId } = await createCompany({ isConnected: false })
    let mails = 0
    const server = createServer((socket) => {
      let inData = false
      let data = ''
      socket.on('error', () => {})
      socket.write('220 hello\r\n')
      socket.on('data', (chunk) => {
        const text = chunk.toString()
        if (inData) {
          data += text
          if (!data.endsWith('\r\n.\r\n')) return
          mails += 1
          socket.destroy()
          return
        }
        inData = /^DATA/im.test(text)
        socket.write(inData ? '354 go on\r\n' : '250 OK\r\n')
      })
    }).listen(0, '127.0.0.1')
    await eventually(async () => server.listening)
    const { port } = server.address() as { port: number }
    await operator('PUT', `/companies/${companyId}/email-settings`, {
      from: 'shop@example.org',
      smtpUrl: `smtp://127.0.0.1:${port}`,
    })
    const sent = await api('POST', '/emails', MAIL)
    expect(await untilCompleted(api, sent.body.data.id)).toMatchObject({
      status: 'failed',
      failureReason: OUTCOME_UNKNOWN,
    })
    expect(mails).toBe(1)
    server.close()
  })
})

test('a mail with HTML alone goes out with a text alternative made from it, a mail with text as it is', async () => {
  const { api } = await createCompany({ isConnected: false })
  const html = '<p>Hello <a href="https://shop.example/">Ada</a></p>'
  expect((await deliver(api, { html })).arrived.text.trim()).toBe('Hello Ada [https://shop.example/]')
  expect((await deliver(api, { html, text: 'My own text' })).arrived.text.trim()).toBe('My own text')
})

test('the content of a mail is kept until the mail is completed and no longer', async () => {
  const { api, companyId } = await createCompany({ isConnected: false })
  await deliver(api)
  expect(await db`select from email_contents where company_id = ${companyId}`).toHaveLength(0)
})
