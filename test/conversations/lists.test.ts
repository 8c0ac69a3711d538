import { randomInt } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { DEMO_ACCOUNT, eventually, startTestService, type TestService } from '../service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ mirrors: true })
})

describe('the template list', () => {
  test('holds the documented members, snake_case, and null for what the provider does not have', async () => {
    const { api } = await service.createCompany()
    const { status, body } = await api('GET', '/templates/whatsapp')
    expect(status).toBe(200)
    const template = body.data.find(
      ({ name, language }: { name: string; language: string }) => name === 'order_update' && language === 'it',
    )
    expect(template).toEqual({
      id: expect.stringMatching(/^tmpl_/),
      name: 'order_update',
      language: 'it',
      status: 'APPROVED',
      category: 'UTILITY',
      namespace: expect.any(String),
      waba_account_id: DEMO_ACCOUNT,
      partner_id: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      modified_at: expect.stringMatching(/Z$/),
      updated_external: false,
      rejected_reason: '',
      external_id: '300000000000002',
      created_by: null,
      modified_by: null,
      quality_score: expect.objectContaining({ score: expect.any(String), reasons: [] }),
      components: expect.arrayContaining([
        expect.objectContaining({ type: 'BODY', example: { body_text: [expect.any(Array)] } }),
      ]),
    })
  })

  test('is ordered by name, then language; languages of one name share their family id', async () => {
    const { api } = await service.createCompany()
    const { data } = (await api('GET', '/templates/whatsapp')).body
    const places = data.map(({ name, language }: { name: string; language: string }) => `${name} ${language}`)
    expect(places).toEqual([...places].sort())
    const updates = data.filter(({ name }: { name: string }) => name === 'order_update')
    expect(updates.map(({ language }: { language: string }) => language)).toEqual(['en_US', 'it'])
    expect(new Set(updates.map(({ id }: { id: string }) => id)).size).toBe(1)
  })

  test('follows the provider’s paging to its end, and a second sync changes nothing', async () => {
    const wabaAccountId = String(randomInt(1e12, 1e13))
    const phoneNumberId = String(randomInt(1e12, 1e13))
    const number = { phoneNumberId, displayPhoneNumber: '+44 7700 900999', verifiedName: 'Many', wabaAccountId }
    await service.control('POST', '/numbers', number)
    const components = [{ type: 'BODY', text: 'Hello' }]
    for (let index = 0; index < 230; index++) {
      const name = `many_${index}`
      const created = await service.control('POST', '/templates', {
        wabaAccountId,
        name,
        language: 'en',
        category: 'UTILITY',
        components,
      })
      expect(created.status).toBe(200)
    }
    const { api, companyId } = await service.createCompany({ sender: { phoneNumberId, wabaAccountId } })
    const before = (await api('GET', '/templates/whatsapp')).body.data
    expect(before).toHaveLength(230)
    const again = await service.operator('POST', `/companies/${companyId}/templates/sync`)
    expect([again.status, again.body]).toEqual([200, { synced: 230 }])
    expect((await api('GET', '/templates/whatsapp')).body.data).toEqual(before)
  })

  test('is read again every hour, from the first number on, by one job', async () => {
    const { api, companyId } = await service.createCompany()
    const job = () => service.db`
      select round(extract(epoch from due_at - now()) / 60)::int as minutes
      from jobs where kind = 'templates.refresh' and subject_id = ${companyId}
    `
    expect(await job()).toEqual([{ minutes: 60 }])
    const name = `new_${randomInt(1e9)}`
    const created = {
      wabaAccountId: DEMO_ACCOUNT,
      name,
      language: 'en',
      category: 'UTILITY',
      components: [{ type: 'BODY', text: 'Hi' }],
    }
    await service.control('POST', '/templates', created)
    await service.db`update jobs set due_at = now() where subject_id = ${companyId}`
    await eventually(async () => {
      const { data } = (await api('GET', '/templates/whatsapp')).body
      return data.some((template: { name: string }) => template.name === name)
    })
    await eventually(async () => (await job())[0]?.minutes === 60)
  })

  test('no number connected: 404 no_whatsapp_account', async () => {
    const { api } = await service.createCompany({ isConnected: false })
    const { status, body } = await api('GET', '/templates/whatsapp')
    expect([status, body.error.code]).toEqual([404, 'no_whatsapp_account'])
  })

  test('a company sees its own alone', async () => {
    const one = await service.createCompany()
    const two = await service.createCompany()
    const ids = async (company: typeof one) =>
      new Set((await company.api('GET', '/templates/whatsapp')).body.data.map(({ id }: { id: string }) => id))
    const [own, others] = [await ids(one), await ids(two)]
    expect(own.size).toBeGreaterThan(0)
    expect(others.size).toBe(own.size)
    expect([...own].filter((id) => others.has(id))).toEqual([])
  })
})

describe('the senders list', () => {
  test('is redacted to the documented members', async () => {
    const { api, sender } = await service.createCompany()
    const { status, body } = await api('GET', '/templates/whatsapp/senders')
    expect(status).toBe(200)
    expect(body).toEqual({
      items: [
        {
          channelId: Number(sender.channelId),
          phoneNumber: sender.phoneNumber,
          phoneName: 'Acme',
          phoneNumberId: sender.phoneNumberId,
          isPreferred: true,
        },
      ],
      pagination: { totalRecords: 1, currentPage: 1, totalPages: 1, nextPage: null, prevPage: null, nextCursor: null },
    })
  })

  test('without a number: 200, empty', async () => {
    const { api } = await service.createCompany({ isConnected: false })
    const { status, body } = await api('GET', '/templates/whatsapp/senders')
    expect([status, body.items, body.pagination.totalPages]).toEqual([200, [], 0])
  })
})

test('figures are shown for Prometheus: requests, sends by outcome, provider latency, connections, jobs', async () => {
  const { api } = await service.createCompany()
  await api('POST', '/templates/whatsapp/send', {
    recipient: '393330009999',
    type: 'template',
    template: { name: 'shipping_notice' },
  })
  const { text } = await service.call(service.url, 'GET', '/metrics')
  for (const figure of [
    /parley_http_requests_total\{method="POST",route="\/public\/v1\/templates\/whatsapp\/send",status="2[^"]*"\} [1-9]/,
    /parley_sends_total\{provider="meta",outcome="accepted"\} [1-9]/,
    /parley_provider_request_duration_seconds_count\{provider="meta",operation="send"\} [1-9]/,
    /parley_database_connections\{state="(active|idle)"\} [1-9]/,
    /parley_events_waiting 0/,
    /parley_jobs_due\{kind="media.copy"\} 0/,
  ]) {
    expect(text).toMatch(figure)
  }
})
