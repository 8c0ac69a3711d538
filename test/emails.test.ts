import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { beforeEach, describe, expect, test } from 'vitest'
import { OUTCOME_UNKNOWN } from '../src/emails/email-delivery.ts'
import { settleEmails } from '../src/emails/email-delivery-store.ts'
import { eventually, startTestService } from './service.ts'

const service = await startTestService()
const { createCompany, control, operator, db, url } = service
const READER = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }

type Api = Awaited<ReturnType<typeof createCompany>>['api']
const MAIL = { to: 'ada@example.com', subject: 'Your order', html: '<p>Hello</p>', from: 'shop@example.org' }

beforeEach(() => control('PUT', '/behaviour', { refuseMailWith: null }))

const uniqueAddress = () => `ada-${randomBytes(6).toString('hex')}@example.com`
const statsOf = async (api: Api, id: string) => (await api('GET', `/emails/${id}/stats`)).body.data
const untilSettled = (api: Api, id: string) =>
  eventually(async () => {
    const stats = await statsOf(api, id)
    return stats.status !== 'pending' && stats
  })
const received = async (to: string) =>
  (await control('GET', '/emails?limit=10000')).body.filter((mail: { to: string }) => mail.to.includes(to))

/** A mail that arrived, sent by this company. */
async function deliver(api: Api, mail: object = {}) {
  const to = uniqueAddress()
  const sent = await api('POST', '/emails', { ...MAIL, to, ...mail })
  expect(sent.status).toBe(201)
  const { id } = sent.body.data
  await untilSettled(api, id)
  const [arrived] = await received(to)
  return { id, to, arrived, links: linksOf(arrived.html) }
}

/** The paths of the tracked links and of the pixel. */
function linksOf(html: string) {
  const paths = [...html.matchAll(/(?:href|src)="?http:\/\/[^/]+(\/public\/v1\/[co]\/[^"]+)"/g)].map(
    ([, path]) => path!,
  )
  return {
    clicks: paths.filter((path) => path.includes('/c/')),
    pixel: paths.find((path) => path.includes('/o/'))!,
  }
}

const get = (path: string, init: RequestInit = {}) =>
  fetch(`${url}${path}`, { redirect: 'manual', headers: READER, ...init })

/** As if it had been sent a while ago, so that a fetch is not taken for a machine's. */
const age = () => db`update emails set settled_at = settled_at - interval '1 minute' where settled_at is not null`

async function createMailing(given: { settings?: object | null; category?: string } = {}) {
  const company = await createCompany({ isConnected: false })
  const path = `/companies/${company.companyId}`
  if (given.settings !== null) {
    await operator('PUT', `${path}/email-settings`, { from: 'shop@example.org', fromName: 'Shop', ...given.settings })
  }
  const template = await operator('POST', `${path}/email-templates`, {
    name: 'Order update',
    subject: 'Order {{ order }}',
    html: '<p>Hello {{ name }}, <a href="https://shop.example/orders/{{ order }}">your order</a></p>',
    text: 'Hello {{ name }}',
    ...(given.category && { category: given.category }),
  })
  expect(template.status).toBe(201)
  const send = (recipient: string, customFields?: object) =>
    company.api('POST', '/templates/email/send', {
      uid: template.body.id,
      recipient,
      ...(customFields && { customFields }),
    })
  return { ...company, template: template.body, send }
}

describe('a one-shot email', () => {
  test('is accepted at once, sent in the background and found under its id', async () => {
    const { api } = await createCompany({ isConnected: false })
    const sent = await api('POST', '/emails', {
      ...MAIL,
      fromName: 'Caffè "Roma"',
      subject: 'Grüße 🎉',
      replyTo: 'help@example.org',
      text: 'Hello',
      headers: { 'X-Order': '17' },
    })
    expect(sent.status).toBe(201)
    const { id, statsUrl, status } = sent.body.data
    expect(id).toMatch(/^eml_[A-Za-z0-9]{24}$/)
    expect(status).toBe('pending')
    expect(statsUrl).toMatch(new RegExp(`/public/v1/emails/${id}/stats$`))
    expect(await untilSettled(api, id)).toEqual({
      id,
      status: 'sent',
      to: MAIL.to,
      subject: 'Grüße 🎉',
      sentAt: expect.stringMatching(/Z$/),
      opened: false,
      firstOpenAt: null,
      clickCount: 0,
      firstClickAt: null,
      failureReason: null,
      suspectedMachine: { opens: 0, clicks: 0 },
    })
    const [mail] = await received(MAIL.to)
    expect(mail).toMatchObject({ to: MAIL.to, subject: 'Grüße 🎉', text: 'Hello', envelope: { to: [MAIL.to] } })
    expect(mail.from).toContain('shop@example.org')
    expect(mail.headers).toMatchObject({ 'reply-to': 'help@example.org', 'x-order': '17' })
    expect(mail.headers['message-id']).toMatch(/^<[0-9a-f]{40}@example\.org>$/)
  })

  test.each([
    ['no recipient', { ...MAIL, to: undefined }, 400, { error: 'Missing recipient address' }],
    ['an empty one', { ...MAIL, to: '' }, 400, { error: 'Missing recipient address' }],
    ['no subject', { ...MAIL, subject: undefined }, 400, { error: { code: 'bad_request' } }],
    ['no sender’s address', { ...MAIL, from: undefined }, 400, { error: { code: 'bad_request' } }],
    ['an unknown member', { ...MAIL, bcc: 'x@example.com' }, 400, { error: { code: 'bad_request' } }],
    ['a list of recipients', { ...MAIL, to: ['a@example.com'] }, 422, { error: { code: 'validation_error' } }],
    ['a bad address', { ...MAIL, to: 'nobody' }, 422, { error: { code: 'validation_error' } }],
    ['a header of ours', { ...MAIL, headers: { Bcc: 'x@example.com' } }, 422, { error: { code: 'validation_error' } }],
    ['a header twice', { ...MAIL, headers: { 'X-A': '1', 'x-a': '2' } }, 422, { error: { code: 'validation_error' } }],
  ])('with %s is refused', async (_name, body, status, error) => {
    const { api } = await createCompany({ isConnected: false })
    const answer = await api('POST', '/emails', body)
    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject(error)
  })

  test('names every field at fault at once', async () => {
    const { api } = await createCompany({ isConnected: false })
    const { body } = await api('POST', '/emails', {
      ...MAIL,
      to: 'x',
      subject: 'a\r\nb',
      from: 'y',
      headers: { To: 'z' },
    })
    expect(body.error.details.fields.map(({ path }: { path: string }) => path)).toEqual([
      'to',
      'subject',
      'from',
      'headers.To',
    ])
  })

  test('needs the permission Transactional', async () => {
    const { api } = await createCompany({ isConnected: false, permissions: ['WhatsApp'] })
    for (const [method, path] of [
      ['POST', '/emails'],
      ['GET', '/emails/x/stats'],
      ['GET', '/transactionals/1/stats'],
      ['GET', '/templates/email'],
      ['POST', '/templates/email/send'],
    ] as const) {
      expect((await api(method, path, method === 'POST' ? {} : undefined)).status).toBe(403)
    }
  })

  test('of another company, or of none, is not found', async () => {
    const { api } = await createCompany({ isConnected: false })
    const other = await createCompany({ isConnected: false })
    const { id } = await deliver(api)
    for (const wrong of [
      () => other.api('GET', `/emails/${id}/stats`),
      () => api('GET', '/emails/eml_nothing/stats'),
    ]) {
      const answer = await wrong()
      expect([answer.status, answer.body]).toEqual([404, { message: 'Email not found' }])
    }
  })

  test('is sent once however often its request with an Idempotency-Key is repeated', async () => {
    const { api } = await createCompany({ isConnected: false })
    const to = uniqueAddress()
    const post = () => api('POST', '/emails', { ...MAIL, to }, { 'idempotency-key': 'order-17' })
    const first = await post()
    const second = await post()
    expect([second.status, second.text]).toEqual([201, first.text])
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    await untilSettled(api, first.body.data.id)
    expect(await received(to)).toHaveLength(1)
    // Kept together with the mail: not even a crash before the answer makes it two.
    const [kept] = await db`select answer_status from idempotency_keys where key = 'order-17'`
    expect(kept?.answerStatus).toBe(201)
  })
})

describe('the mail server', () => {
  test('that refuses for good makes it failed, with its words', async () => {
    const { api } = await createCompany({ isConnected: false })
    await control('PUT', '/behaviour', { refuseMailWith: 550 })
    const sent = await api('POST', '/emails', MAIL)
    expect(await untilSettled(api, sent.body.data.id)).toMatchObject({
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
    expect(await untilSettled(api, sent.body.data.id)).toMatchObject({ status: 'sent', failureReason: null })
    expect(await received(to)).toHaveLength(1)
  })

  test('that refuses for 24 hours is given up, with its last words', async () => {
    const { api, companyId } = await createCompany({ isConnected: false })
    await control('PUT', '/behaviour', { refuseMailWith: 421 })
    const sent = await api('POST', '/emails', MAIL)
    await eventually(
      async () => (await db`select from jobs where company_id = ${companyId} and attempts = 1`).length > 0,
    )
    await db`update emails set created_at = created_at - interval '23 hours 59 minutes' where company_id = ${companyId}`
    await db`update jobs set due_at = now() where company_id = ${companyId}`
    expect(await untilSettled(api, sent.body.data.id)).toMatchObject({
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
    expect(await untilSettled(api, sent.body.data.id)).toMatchObject({
      status: 'failed',
      failureReason: expect.stringContaining('554 No mail here'),
    })
    expect(asked.length).toBeGreaterThan(0)
    server.close()
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
    const [before] = await db`select message_id, handed_over_at from emails where uid = ${id}`
    expect(before?.handedOverAt).toBeNull()
    await db`update jobs set due_at = now() where company_id = ${companyId}`
    expect((await untilSettled(api, id)).status).toBe('sent')
    const mails = await received(to)
    expect(mails.map(({ headers }: { headers: Record<string, string> }) => headers['message-id'])).toEqual([
      before?.messageId,
    ])
  })

  test('of an older Parley, which did not find beforehand what is tracked, a mail is tracked all the same', async () => {
    const { api, companyId } = await createCompany({ isConnected: false })
    const { to, id } = await waiting(api, companyId, '<a href="https://shop.example/">See it</a>')
    const kept = await db`update email_contents set tracking = null where company_id = ${companyId} returning tracking`
    expect(kept).toHaveLength(1)
    await db`update jobs set due_at = now() where company_id = ${companyId}`
    expect((await untilSettled(api, id)).status).toBe('sent')
    const [mail] = await received(to)
    expect(mail.html).toMatch(/<a href="[^"]*\/public\/v1\/c\/[A-Za-z0-9_-]{44}"/)
    expect(mail.html).toMatch(/<img src="[^"]*\/public\/v1\/o\/[A-Za-z0-9_-]{44}"/)
  })

  test('after it had the end and before its answer was kept, it is not sent again, and says so', async () => {
    const { api, companyId } = await createCompany({ isConnected: false })
    const { to, id } = await waiting(api, companyId)
    await db`update emails set handed_over_at = now() where uid = ${id}`
    await db`update jobs set due_at = now() where company_id = ${companyId}`
    expect(await untilSettled(api, id)).toMatchObject({ status: 'failed', failureReason: OUTCOME_UNKNOWN })
    expect(await received(to)).toEqual([])

    // The answer that arrives after all is the truth.
    const [row] = await db<{ id: number }[]>`select id from emails where uid = ${id}`
    await settleEmails(db, [{ companyId, id: row!.id, status: 'sent', failureReason: null }])
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
    expect(await untilSettled(api, sent.body.data.id)).toMatchObject({
      status: 'failed',
      failureReason: OUTCOME_UNKNOWN,
    })
    expect(mails).toBe(1)
    server.close()
  })
})

describe('an email made from a template', () => {
  test('is filled, escaped, and sent as the company', async () => {
    const { api, send } = await createMailing()
    const to = uniqueAddress()
    const sent = await send(to, { order: 'A-1', name: '<b>Ada</b> & co' })
    expect(sent.status).toBe(200)
    expect(sent.body).toEqual({
      success: true,
      data: { success: true, id: expect.stringMatching(/^eml_/), statsUrl: expect.any(String) },
    })
    await untilSettled(api, sent.body.data.id)
    const [mail] = await received(to)
    expect(mail).toMatchObject({
      subject: 'Order A-1',
      from: 'Shop <shop@example.org>',
      text: 'Hello <b>Ada</b> & co',
    })
    expect(mail.html).toContain('Hello &lt;b&gt;Ada&lt;/b&gt; &amp; co,')
  })

  test('leaves a missing variable empty', async () => {
    const { api, send } = await createMailing()
    const to = uniqueAddress()
    await untilSettled(api, (await send(to)).body.data.id)
    expect((await received(to))[0].html).toContain('<p>Hello , <a')
  })

  test('is listed with its variables and the id of its statistics', async () => {
    const { api, template } = await createMailing()
    const { status, body } = await api('GET', '/templates/email')
    expect(status).toBe(200)
    expect(body).toEqual({
      data: [
        {
          id: template.id,
          transactionalId: template.transactionalId,
          name: 'Order update',
          subject: 'Order {{ order }}',
          status: 'active',
          category: 'TRANSACTIONAL',
          createdAt: template.createdAt,
          variables: ['order', 'name'],
        },
      ],
    })
  })

  test('of another company, or of none, is not found', async () => {
    const { template } = await createMailing()
    const other = await createMailing()
    for (const answer of [
      await other.api('POST', '/templates/email/send', { uid: template.id, recipient: 'a@example.com' }),
      await other.api('GET', `/transactionals/${template.transactionalId}/stats`),
      await other.api('GET', '/transactionals/none/stats'),
    ]) {
      expect([answer.status, answer.body]).toEqual([404, { message: 'Transactional not found' }])
    }
  })

  test('without a recipient is refused', async () => {
    const { api, template } = await createMailing()
    for (const body of [{ uid: template.id }, { uid: template.id, recipient: '' }]) {
      const answer = await api('POST', '/templates/email/send', body)
      expect([answer.status, answer.body]).toEqual([400, { error: 'Missing recipient address' }])
    }
    expect(
      (await api('POST', '/templates/email/send', { uid: template.id, recipient: 'a, b@example.com' })).status,
    ).toBe(422)
    expect(
      (
        await api('POST', '/templates/email/send', {
          uid: template.id,
          recipient: 'a@example.com',
          customFields: { a: 1 },
        })
      ).status,
    ).toBe(422)
  })

  test('needs a sender’s address of the company', async () => {
    const { send } = await createMailing({ settings: null })
    const answer = await send('a@example.com')
    expect(answer.status).toBe(503)
    expect(answer.body.error.message).toContain('email-settings')
  })
})

describe('tracking', () => {
  test('opening and clicking show in the statistics, and every fetch counts', async () => {
    const { api } = await createCompany({ isConnected: false })
    const html =
      '<a href="https://shop.example/?a=1&amp;b=2">x</a><a href="mailto:a@b.example">m</a><a href="#top">t</a>'
    const { id, arrived, links } = await deliver(api, { html })
    expect(arrived.html).toContain('<a href="mailto:a@b.example">m</a><a href="#top">t</a>')
    expect(links.clicks).toHaveLength(1)
    await age()

    const pixel = await get(links.pixel)
    expect([pixel.status, pixel.headers.get('content-type'), pixel.headers.get('cache-control')]).toEqual([
      200,
      'image/gif',
      'no-store',
    ])
    const opened = await statsOf(api, id)
    expect(opened).toMatchObject({ opened: true, clickCount: 0, firstClickAt: null })

    for (const _ of [1, 2, 3]) {
      const click = await get(links.clicks[0]!)
      expect([click.status, click.headers.get('location'), click.headers.get('cache-control')]).toEqual([
        302,
        'https://shop.example/?a=1&b=2',
        'no-store',
      ])
    }
    await get(links.pixel)
    const clicked = await statsOf(api, id)
    expect(clicked).toMatchObject({
      opened: true,
      firstOpenAt: opened.firstOpenAt,
      clickCount: 3,
      suspectedMachine: { opens: 0, clicks: 0 },
    })
    const [ledger] =
      await db`select count(*), min(at) as first from email_clicks where company_id = (select company_id from emails where uid = ${id})`
    expect(ledger).toMatchObject({ count: 3 })
    expect(Math.abs(Date.parse(clicked.firstClickAt) - ledger!.first.getTime())).toBeLessThan(1000)
  })

  test('HEAD is answered and not counted', async () => {
    const { api } = await createCompany({ isConnected: false })
    const { id, links } = await deliver(api, { html: '<a href="https://shop.example/">x</a>' })
    expect((await get(links.pixel, { method: 'HEAD' })).status).toBe(200)
    expect((await get(links.clicks[0]!, { method: 'HEAD' })).status).toBe(302)
    expect(await statsOf(api, id)).toMatchObject({ opened: false, clickCount: 0 })
  })

  test('fetches of machines are counted, and flagged', async () => {
    const { api } = await createCompany({ isConnected: false })
    const { id, links } = await deliver(api, { html: '<a href="https://shop.example/">x</a>' })
    // So soon after the sending nobody has read it yet.
    await get(links.clicks[0]!)
    await age()
    await get(links.pixel, { headers: { 'user-agent': 'GoogleImageProxy' } })
    await get(links.pixel)
    await get(links.clicks[0]!)
    expect(await statsOf(api, id)).toMatchObject({
      opened: true,
      clickCount: 2,
      suspectedMachine: { opens: 1, clicks: 1 },
    })
  })

  test('a token that was tampered with is 404, never a redirect', async () => {
    const { api } = await createCompany({ isConnected: false })
    const { id, links } = await deliver(api, { html: '<a href="https://shop.example/">x</a>' })
    const other = await deliver(api, { html: '<a href="https://evil.example/">x</a>' })
    const token = links.clicks[0]!.slice('/public/v1/c/'.length)
    const otherToken = other.links.clicks[0]!.slice('/public/v1/c/'.length)
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const flipped = [...token].map(
      (letter, place) =>
        token.slice(0, place) + alphabet[(alphabet.indexOf(letter) + 1 + (place % 60)) % 64] + token.slice(place + 1),
    )
    const tampered = [
      ...flipped.map((one) => `/public/v1/c/${one}`),
      `/public/v1/c/${token.slice(0, 20)}${otherToken.slice(20)}`,
      `/public/v1/c/${links.pixel.slice('/public/v1/o/'.length)}`,
      `/public/v1/o/${token}`,
      `/public/v1/u/${token}`,
      `/public/v1/c/${token}=`,
      '/public/v1/c/https:%2F%2Fevil.example',
      '/public/v1/c/',
    ]
    for (const path of tampered) {
      const answer = await get(path)
      expect([path, answer.status, answer.headers.get('location')]).toEqual([path, 404, null])
    }
    expect(await statsOf(api, id)).toMatchObject({ opened: false, clickCount: 0 })
  })

  test('a thousand fetches at once are all counted', async () => {
    const { api } = await createCompany({ isConnected: false })
    const { id, links } = await deliver(api, { html: '<a href="https://shop.example/">x</a>' })
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, (_, n) => get(n % 2 ? links.pixel : links.clicks[0]!)),
    )
    expect(answers.filter(({ status }) => status === 200 || status === 302)).toHaveLength(1_000)
    const [row] = await db`select open_count, click_count from emails where uid = ${id}`
    expect(row).toMatchObject({ openCount: 500, clickCount: 500 })
  })

  test('is left out where nobody asked for it', async () => {
    const { api } = await createCompany({ isConnected: false })
    const html = '<a href="https://shop.example/">x</a>'
    const { arrived } = await deliver(api, { html, trackOpens: false, trackClicks: false })
    expect(arrived.html.trim()).toBe(html)
  })
})

describe('the statistics of a template', () => {
  test('are distinct mails opened and clicked of mails sent, in whole percent', async () => {
    const { api, template, send } = await createMailing()
    const stats = async () => (await api('GET', `/transactionals/${template.transactionalId}/stats`)).body.data
    expect(await stats()).toEqual({
      created: template.createdAt,
      openRate: '0%',
      clickRate: '0%',
      totalMessagesSent: 0,
    })
    const to = [uniqueAddress(), uniqueAddress(), uniqueAddress()]
    const sent = await Promise.all(to.map((one) => send(one, { order: '1' })))
    for (const { body } of sent) await untilSettled(api, body.data.id)
    const mails = await Promise.all(to.map(async (one) => linksOf((await received(one))[0].html)))
    for (const _ of [1, 2]) for (const { pixel } of mails.slice(0, 2)) await get(pixel)
    for (const _ of [1, 2]) await get(mails[0]!.clicks[0]!)
    expect(await stats()).toEqual({
      created: template.createdAt,
      openRate: '67%',
      clickRate: '33%',
      totalMessagesSent: 3,
    })
  })

  test('leave out what was refused', async () => {
    const { api, template, send } = await createMailing()
    await control('PUT', '/behaviour', { refuseMailWith: 550 })
    await untilSettled(api, (await send(uniqueAddress())).body.data.id)
    expect((await api('GET', `/transactionals/${template.transactionalId}/stats`)).body.data.totalMessagesSent).toBe(0)
  })

  test('are read by key, not by scan, as are those of one mail', async () => {
    const { companyId, template } = await createMailing()
    const plans = await Promise.all([
      db.unsafe(
        `set enable_seqscan = off; explain select * from email_template_counts where (company_id, template_id) = (${companyId}, ${template.transactionalId})`,
      ),
      db.unsafe(
        `set enable_seqscan = off; explain select * from emails where (company_id, uid) = (${companyId}, 'eml_x')`,
      ),
    ])
    const lines = plans.flat(3).map((row) => JSON.stringify(row))
    expect(lines.filter((line) => line.includes('Index Scan using'))).toHaveLength(2)
    expect(lines.join()).not.toContain('Aggregate')
  })
})

describe('marketing', () => {
  const headersOf = async (to: string) => (await received(to))[0].headers as Record<string, string>
  const wayOut = async (to: string) =>
    /<http:\/\/[^/]+(\/public\/v1\/u\/[^>]+)>/.exec((await headersOf(to))['list-unsubscribe']!)![1]!

  test('offers the way out by one click, and takes it', async () => {
    const { api, send } = await createMailing({ category: 'MARKETING' })
    const email = uniqueAddress()
    const created = await api('POST', '/contacts', { email, marketingConsent: { email: true } })
    await untilSettled(api, (await send(email)).body.data.id)
    expect((await headersOf(email))['list-unsubscribe-post']).toBe('List-Unsubscribe=One-Click')

    const path = await wayOut(email)
    // Scanners fetch it; that alone takes nobody off.
    const page = await get(path)
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<form method="post">')])
    expect((await send(email)).status).toBe(200)

    const out = await get(path, {
      method: 'POST',
      body: 'List-Unsubscribe=One-Click',
      headers: { ...READER, 'content-type': 'application/x-www-form-urlencoded' },
    })
    expect(out.status).toBe(200)
    const contact = await api('GET', `/contacts/${created.body.data[0].id}`)
    expect(contact.body.data.marketing_consent.email).toBe(false)
    const refused = await send(email)
    expect([refused.status, refused.body.error.code]).toEqual([403, 'forbidden'])
    const [history] =
      await db`select source, value from consent_changes where contact_id = ${created.body.data[0].id} order by id desc`
    expect(history).toMatchObject({ source: 'unsubscribe', value: false })
  })

  test('the way out also counts for who is no contact yet', async () => {
    const { api, send } = await createMailing({ category: 'MARKETING' })
    const email = uniqueAddress()
    await untilSettled(api, (await send(email)).body.data.id)
    expect((await get(await wayOut(email), { method: 'POST' })).status).toBe(200)
    expect((await send(email.toUpperCase())).status).toBe(403)
  })

  test('does not go to who opts out while it waits', async () => {
    const { api, companyId, send } = await createMailing({ category: 'MARKETING' })
    const email = uniqueAddress()
    await control('PUT', '/behaviour', { refuseMailWith: 450 })
    const sent = await send(email)
    await eventually(
      async () =>
        (await db`select from jobs where company_id = ${companyId} and attempts = 1 and claim_id is null`).length > 0,
    )
    await control('PUT', '/behaviour', { refuseMailWith: null })
    await api('POST', '/contacts', { email, marketingConsent: { email: false } })
    await db`update jobs set due_at = now() where company_id = ${companyId}`
    expect(await untilSettled(api, sent.body.data.id)).toMatchObject({
      status: 'failed',
      failureReason: expect.stringContaining('opted out'),
    })
    expect(await received(email)).toEqual([])
  })

  test('other mails go to everybody, without a way out', async () => {
    const { api, send } = await createMailing()
    const email = uniqueAddress()
    await api('POST', '/contacts', { email, marketingConsent: { email: false } })
    const sent = await send(email)
    expect(sent.status).toBe(200)
    await untilSettled(api, sent.body.data.id)
    expect(await headersOf(email)).not.toHaveProperty('list-unsubscribe')
  })
})

test('what a mail says is kept no longer than until it is settled', async () => {
  const { api, companyId } = await createCompany({ isConnected: false })
  await deliver(api)
  expect(await db`select from email_contents where company_id = ${companyId}`).toHaveLength(0)
})
