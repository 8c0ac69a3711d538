import { describe, expect, it } from 'vitest'
import { fieldsOf, startOperator } from '../../test/operator-world.ts'

const { deps, call, newCompany, number, newSender } = await startOperator()

describe('senders', () => {
  it('are connected with 201: the record with channelId and provider, and no secret', async () => {
    const id = await newCompany()
    const input = number({ tier: 2, apiBaseUrl: 'http://127.0.0.1:3001' })
    const { status, body, text } = await call('POST', `/companies/${id}/senders`, input)
    const { accessToken, appSecret, ...shown } = input
    expect(status).toBe(201)
    expect(body).toEqual({
      ...shown,
      channelId: expect.any(Number),
      isPreferred: true,
      tier: 2,
      dailyLimit: null,
      apiBaseUrl: 'http://127.0.0.1:3001',
      appId: null,
      appName: null,
      portfolioId: null,
      throughputPerSecond: null,
      isSharedWithApp: false,
      marketingAddress: 'auto',
      marketingTermsSigned: false,
      directSend: false,
      webhookUrl: expect.stringContaining('/public/v1/webhooks/whatsapp'),
      webhookVerifyToken: null,
      webhookSteps: expect.any(String),
      createdAt: expect.any(String),
    })
    const everywhere = text + (await call('GET', `/companies/${id}/senders`)).text
    for (const secret of [accessToken, appSecret]) expect(everywhere).not.toContain(secret)
    expect(deps.reported.senders.at(-1)).toBe(id)
  })

  it('are listed as a bare array, read, changed and disconnected', async () => {
    const id = await newCompany()
    const [one, two] = [await newSender(id), await newSender(id, { provider: 'gupshup' })]
    expect((await call('GET', `/companies/${id}/senders`)).body).toEqual([one, two])
    expect(await call('GET', `/companies/${id}/senders/${two.channelId}`)).toMatchObject({ status: 200, body: two })
    const changed = await call('PATCH', `/companies/${id}/senders/${two.channelId}`, { isPreferred: true, tier: 4 })
    expect(changed).toMatchObject({ status: 200, body: { ...two, isPreferred: true, tier: 4 } })
    const away = await call('PATCH', `/companies/${id}/senders/${two.channelId}`, { isPreferred: false })
    expect(away.status).toBe(422)
    expect(fieldsOf(away.body)).toEqual(['isPreferred'])
    expect(await call('DELETE', `/companies/${id}/senders/${two.channelId}`)).toMatchObject({
      status: 200,
      body: { success: true },
    })
    expect((await call('GET', `/companies/${id}/senders`)).body).toEqual([{ ...one, isPreferred: true }])
  })

  it('are refused with 409 when the number is connected already, here or elsewhere', async () => {
    const [id, other] = [await newCompany(), await newCompany()]
    const { phoneNumberId } = await newSender(id)
    for (const company of [id, other]) {
      const { status, body } = await call('POST', `/companies/${company}/senders`, number({ phoneNumberId }))
      expect(status).toBe(409)
      expect(body.error.code).toBe('duplicate_resource')
    }
  })

  it.each([
    [{ provider: 'telegram' }, 'provider'],
    [{ phoneNumber: '12345' }, 'phoneNumber'],
    [{ phoneNumber: '1234567890123456' }, 'phoneNumber'],
    [{ phoneNumberId: '' }, 'phoneNumberId'],
    [{ phoneNumberId: 'x'.repeat(129) }, 'phoneNumberId'],
    [{ wabaAccountId: ' ' }, 'wabaAccountId'],
    [{ accessToken: 'two words' }, 'accessToken'],
    [{ accessToken: null }, 'accessToken'],
    [{ tier: 5 }, 'tier'],
    [{ dailyLimit: 0 }, 'dailyLimit'],
    [{ dailyLimit: 3_000_000_000 }, 'dailyLimit'],
    [{ apiBaseUrl: 'file:///etc/passwd' }, 'apiBaseUrl'],
    [{ apiBaseUrl: 'http://x?y' }, 'apiBaseUrl'],
    [{ isPreferred: 'yes' }, 'isPreferred'],
  ])('are refused with 422 for %j, when connected and when changed', async (wrong, path) => {
    const id = await newCompany()
    const { channelId } = await newSender(id)
    const created = await call('POST', `/companies/${id}/senders`, number(wrong))
    const changed = await call('PATCH', `/companies/${id}/senders/${channelId}`, wrong)
    for (const answer of [created, changed]) {
      expect(answer.status).toBe(422)
      expect(fieldsOf(answer.body)).toEqual([path])
    }
  })

  it('are refused with 400 that names every absent field', async () => {
    const answer = await call('POST', `/companies/${await newCompany()}/senders`, { provider: 'meta' })
    expect(answer.status).toBe(400)
    expect(fieldsOf(answer.body)).toEqual(['phoneNumberId', 'wabaAccountId', 'accessToken'])
  })

  it('of another company are 404 exactly as those that never were', async () => {
    const [id, other] = [await newCompany(), await newCompany()]
    const { channelId } = await newSender(other)
    const answers = []
    for (const unknown of [channelId, 999_999_999, 'x', '0']) {
      const path = `/companies/${id}/senders/${unknown}`
      answers.push(await call('GET', path), await call('PATCH', path, { phoneName: 'x' }), await call('DELETE', path))
    }
    expect(answers.filter(({ status, text }) => status !== 404 || text !== '{"message":"Sender not found"}')).toEqual(
      [],
    )
    expect((await call('GET', `/companies/${other}/senders`)).body).toHaveLength(1)
  })
})
