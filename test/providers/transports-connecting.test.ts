import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { PROVIDER_NAMES } from '../../src/providers/provider-names.ts'
import { PAIR_BURST, PAIR_SECONDS } from '../../src/sends/batch/decide-sends.ts'
import { WEBHOOK } from '../provider-webhook.ts'
import { eventually, uniquePhone } from '../service.ts'
import { SEND, startTransports } from './transports-world.ts'

/** More messages than get a slot while the burst is sent, on the slowest machine. */
const SURPLUS = 30
const { service, numberAt, connected } = await startTransports()

describe('connecting', () => {
  test.each(
    PROVIDER_NAMES,
  )('through %s with a credential that is refused: 422 naming accessToken', async (provider) => {
    const { body } = await numberAt(provider)
    const { companyId } = await service.createCompany({ isConnected: false })
    const path = `/companies/${companyId}/senders`
    const answer = await service.operator('POST', path, { ...body, accessToken: 'refused' })
    expect([answer.status, answer.body.error.code]).toEqual([422, 'validation_error'])
    expect(answer.body.error.details.fields).toMatchObject([{ path: 'accessToken' }])
    expect((await service.operator('GET', path)).body).toEqual([])
  })

  test('a new credential is tried before it replaces the old one', async () => {
    const { path, sender } = await connected('meta')
    const answer = await service.operator('PATCH', `${path}/${sender.channelId}`, { accessToken: 'refused' })
    expect([answer.status, answer.body.error.details.fields[0].path]).toEqual([422, 'accessToken'])
    const accepted = await service.operator('PATCH', `${path}/${sender.channelId}`, { accessToken: 'another' })
    expect(accepted.status).toBe(200)
  })

  test.each(PROVIDER_NAMES)('through %s while it is away needs name and number', async (provider) => {
    const { body } = await numberAt(provider)
    const { companyId } = await service.createCompany({ isConnected: false })
    const path = `/companies/${companyId}/senders`
    const away = { ...body, apiBaseUrl: 'http://127.0.0.1:9/partner/app/x' }
    const refused = await service.operator('POST', path, away)
    expect([refused.status, refused.body.error.code]).toEqual([503, 'service_unavailable'])
    expect(refused.body.error.message).toContain('could not be reached')
    const name = { phoneNumber: '+39 333 1112223', phoneName: 'Acme' }
    const answer = await service.operator('POST', path, { ...away, ...name })
    expect([answer.status, answer.body]).toMatchObject([201, name])
  })

  test.each([
    [400, 100, 'Unsupported get request. Object with ID does not exist', 422, 'wabaAccountId'],
    [403, 10, 'Application does not have permission for this action', 422, 'accessToken'],
    [400, 200, 'Permissions error', 422, 'accessToken'],
    [500, 2, 'Service temporarily unavailable', 201, undefined],
    [400, 4, 'Application request limit reached', 429, undefined],
    [429, 987654, 'Slower', 429, undefined],
    [429, undefined, 'Slower', 429, undefined],
  ])('answered %i with code %i: the refusal with its own message, whatever else the request has', async (...row) => {
    const [status, code, message, expected, path] = row
    const server = createServer((_request, response) => {
      response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: { code, message } }))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const apiBaseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { companyId } = await service.createCompany({ isConnected: false })
    const { body } = await numberAt('meta')
    const named = { ...body, apiBaseUrl, phoneNumber: '+39 333 1112223', phoneName: 'Acme' }
    const answer = await service.operator('POST', `/companies/${companyId}/senders`, named)
    server.close()
    expect(answer.status).toBe(expected)
    if (expected === 429) expect(answer.headers.get('retry-after')).toBe('60')
    if (path === undefined) return
    const [field] = answer.body.error.details.fields
    expect(field).toEqual({ path, message: `is refused by the provider: ${code}: ${message}` })
  })

  test.each([
    ['without its name', {}],
    ['with number and name', { phoneNumber: '+39 333 1112223', phoneName: 'Acme' }],
  ])('a number that the provider does not list, %s: 422 naming phoneNumberId', async (_, input) => {
    const { companyId } = await service.createCompany({ isConnected: false })
    const { body } = await numberAt('meta')
    const unlisted = { ...body, ...input, phoneNumberId: '1' }
    const answer = await service.operator('POST', `/companies/${companyId}/senders`, unlisted)
    expect([answer.status, answer.body.error.details?.fields[0].path]).toEqual([422, 'phoneNumberId'])
  })

  test("a given name and the form of a number take precedence over the provider's", async () => {
    const { body, displayPhoneNumber } = await numberAt('dialog360')
    const phoneNumber = `00${displayPhoneNumber.replaceAll(/[^0-9]/g, '')}`
    const { companyId } = await service.createCompany({ isConnected: false })
    const given = { phoneName: 'My name', phoneNumber }
    const answer = await service.operator('POST', `/companies/${companyId}/senders`, { ...body, ...given })
    expect(answer.body).toMatchObject(given)
  })

  test.each([
    ['gupshup', 'wabaAccountId', { wabaAccountId: '1' }],
    ['gupshup', 'appId', { appId: 'another' }],
    ['gupshup', 'phoneNumber', { phoneNumber: '+1 555 0100001' }],
    ['dialog360', 'wabaAccountId', { wabaAccountId: '1' }],
    ['dialog360', 'phoneNumber', { phoneNumber: '+1 555 0100001' }],
    ['meta', 'phoneNumber', { phoneNumber: '+1 555 0100001' }],
  ] as const)('through %s with another %s than the provider answers: 422 naming it', async (provider, path, typed) => {
    const { body, wabaAccountId, displayPhoneNumber, app } = await numberAt(provider)
    const { companyId } = await service.createCompany({ isConnected: false })
    const senders = `/companies/${companyId}/senders`
    const answer = await service.operator('POST', senders, { ...body, ...typed })
    expect([answer.status, answer.body.error?.details.fields]).toMatchObject([422, [{ path }]])
    const [{ message }] = answer.body.error.details.fields
    const answered = { wabaAccountId, appId: app.id, phoneNumber: displayPhoneNumber }[path]
    expect(message.replaceAll(/[+ ]/g, '')).toContain(answered.replaceAll(/[+ ]/g, ''))
    expect((await service.operator('GET', senders)).body).toEqual([])
    // A new credential is compared in the same way.
    const right = await service.operator('POST', senders, body)
    expect(right.status).toBe(201)
    const change = { ...typed, accessToken: body.accessToken }
    const changed = await service.operator('PATCH', `${senders}/${right.body.channelId}`, change)
    expect([changed.status, changed.body.error?.details.fields[0].path]).toEqual([422, path])
  })

  test('templates of 360dialog keep the members of its records', async () => {
    const { api, wabaAccountId } = await connected('dialog360')
    const { body } = await api('GET', '/templates/whatsapp')
    expect(body.data).toHaveLength(3)
    const at = '2026-01-01T09:00:00Z'
    for (const record of body.data) {
      expect(record).toMatchObject({
        created_at: at,
        modified_at: at,
        updated_external: false,
        partner_id: 'sandboxPA',
      })
      expect(record.waba_account_id).toMatch(/WA$/)
      expect(record.waba_account_id).not.toBe(wabaAccountId)
    }
  })

  test('a number that the phone app uses too is known as such', async () => {
    const { body } = await numberAt('meta', { isOnBizApp: true })
    const { companyId } = await service.createCompany({ isConnected: false })
    const answer = await service.operator('POST', `/companies/${companyId}/senders`, body)
    expect(answer.body).toMatchObject({ isSharedWithApp: true, throughputPerSecond: null })
  })
})

describe('events of a number that has a webhook secret', () => {
  const webhookSecret = 'a-secret-of-the-webhook'
  const post = (path: string, body: object, headers = {}) => service.call(service.url, 'POST', path, body, headers)

  test('are taken with the secret in header or path, else refused and not kept', async () => {
    const { phoneNumberId } = await connected('dialog360', { webhookSecret })
    const value = {
      messaging_product: 'whatsapp',
      metadata: { phone_number_id: phoneNumberId },
      statuses: [{ id: 'wamid.X', status: 'sent' }],
    }
    const body = { object: 'x', entry: [{ id: '1', changes: [{ field: 'messages', value }] }] }
    // Which senders carry a secret is believed for a few seconds.
    await eventually(async () => (await post(WEBHOOK, body)).status === 401)
    const answers = [
      await post(WEBHOOK, body),
      await post(WEBHOOK, body, { 'x-webhook-secret': 'wrong' }),
      await post(`${WEBHOOK}/wrong`, body),
      await post(WEBHOOK, body, { 'x-webhook-secret': webhookSecret }),
      await post(`${WEBHOOK}/${webhookSecret}`, body),
    ]
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 200, 200])
    expect(answers[0]?.body.error.code).toBe('unauthorized')
  })

  test('are asked for it by the app too, and no other number is', async () => {
    const { app } = await connected('gupshup', { webhookSecret })
    const statuses = [{ gs_id: randomUUID(), status: 'enqueued' }]
    const body = (id: string) => ({
      gs_app_id: id,
      entry: [{ changes: [{ field: 'messages', value: { messaging_product: 'whatsapp', statuses } }] }],
    })
    await eventually(async () => (await post(WEBHOOK, body(app.id))).status === 401)
    expect((await post(WEBHOOK, body(app.id), { 'x-webhook-secret': webhookSecret })).status).toBe(200)
    expect((await post(WEBHOOK, body(randomUUID()))).status).toBe(200)
  })

  test('is never shown', async () => {
    const { path, sender } = await connected('gupshup', { webhookSecret })
    const shown = JSON.stringify([sender, (await service.operator('GET', path)).body])
    expect(shown).not.toContain(webhookSecret)
    expect(sender.webhookSteps).toContain('X-Webhook-Secret')
  })

  test('must be long enough to be one', async () => {
    const { body } = await numberAt('dialog360')
    const { companyId } = await service.createCompany({ isConnected: false })
    const answer = await service.operator('POST', `/companies/${companyId}/senders`, {
      ...body,
      webhookSecret: 'short',
    })
    expect(answer.status).toBe(422)
  })
})

describe('the throughput of a sender', () => {
  const template = { name: 'parcel_left' }

  test('one message too many to one customer: 429 with the time to wait, nothing written', async () => {
    const { api, companyId } = await connected('meta', { throughputPerSecond: 1_000 })
    const recipient = uniquePhone()
    const startedAtMs = performance.now()
    const answers = await Promise.all(
      Array.from({ length: PAIR_BURST + SURPLUS }, () => api('POST', SEND, { recipient, type: 'template', template })),
    )
    const sent = answers.filter(({ status }) => status === 200)
    const most = PAIR_BURST + Math.ceil((performance.now() - startedAtMs) / (PAIR_SECONDS * 1_000))
    expect(sent.length).toBeGreaterThanOrEqual(PAIR_BURST)
    expect(sent.length).toBeLessThanOrEqual(most)
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(0)
    expect(sent.length + refused.length).toBe(answers.length)
    for (const { body, headers } of refused) {
      expect(body.error).toMatchObject({ code: 'rate_limit_exceeded', retry_after: expect.any(Number) })
      expect(headers.get('retry-after')).toBe(String(body.error.retry_after))
    }
    expect(await service.db`select 1 from messages where company_id = ${companyId}`).toHaveLength(sent.length)
  })

  test('a message beyond the throughput waits for its slot', async () => {
    const { api, companyId } = await connected('meta', { throughputPerSecond: 5 })
    const [before] = await service.db`select clock_timestamp() as now`
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => api('POST', SEND, { recipient: uniquePhone(), type: 'template', template })),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const [after] = await service.db`
      select clock_timestamp() as now, next_slot_at from sender_limits where company_id = ${companyId}
    `
    // Four turns of 200 ms were given out, and the last of them was waited for.
    expect(after!.nextSlotAt - before!.now).toBeGreaterThanOrEqual(799)
    expect(after!.now - after!.nextSlotAt).toBeGreaterThanOrEqual(-210)
  })
})
