import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { MAIL, startMailing, uniqueAddress } from './email-world.ts'

const { createCompany, db, untilCompleted, received, deliver, createMailing } = await startMailing()

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
    expect(await untilCompleted(api, id)).toEqual({
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
      bouncedAt: null,
      complainedAt: null,
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
    ['an unknown member', { ...MAIL, bcc: 'x@example.com' }, 422, { error: { code: 'validation_error' } }],
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
    await untilCompleted(api, first.body.data.id)
    expect(await received(to)).toHaveLength(1)
    // Kept together with the mail: not even a crash before the answer makes it two.
    const key = createHash('sha256').update('order-17').digest('base64url')
    const [stored] = await db`select answer_status from idempotency_keys where key = ${key}`
    expect(stored?.answerStatus).toBe(201)
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
    await untilCompleted(api, sent.body.data.id)
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
    await untilCompleted(api, (await send(to)).body.data.id)
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
          customFields: { a: { b: 1 } },
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
