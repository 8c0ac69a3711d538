import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { ADMIN_TOKEN } from '../api.ts'
import { DEMO_ACCOUNT, startTestService, type TestService } from '../service.ts'

const reference: { paths: Record<string, Record<string, { parameters?: { $ref?: string }[] }>> } = JSON.parse(
  readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'),
)
const POSTS = Object.keys(reference.paths).filter((path) => path.startsWith('/admin/') && reference.paths[path]!.post)

let service: TestService
let companyId: number
beforeAll(async () => {
  service = await startTestService({ mirrors: true })
  companyId = (await service.createCompany()).companyId
})

const post = (path: string, key: string, body?: unknown) =>
  service.call(service.url, 'POST', path, body, { authorization: `Bearer ${ADMIN_TOKEN}`, 'idempotency-key': key })

async function newSender() {
  const phoneNumberId = '109876543210987'
  const phoneNumber = '+39 3331112223'
  const number = { phoneNumberId, displayPhoneNumber: phoneNumber, verifiedName: 'Acme', wabaAccountId: DEMO_ACCOUNT }
  await service.control('POST', '/numbers', number)
  const account = { phoneNumberId, wabaAccountId: DEMO_ACCOUNT, apiBaseUrl: service.sandbox.url }
  return { provider: 'meta', phoneNumber, phoneName: 'Acme', accessToken: 'token-of-the-number', ...account }
}

const storeFailedEvent = async () => {
  const [row] = await service.db<{ id: number }[]>`
    insert into inbound_items (state, phone_number_id, body, reason, received_at)
    values ('failed', '1', '{}', 'failed', now()) returning id
  `
  return row!.id
}
const storeFailedJob = async () => {
  const [row] = await service.db<{ id: number }[]>`
    insert into jobs (company_id, kind, lane, subject_id, failed_at)
    values (${companyId}, 'test.kind', 'test', 1, now()) returning id
  `
  return row!.id
}

/** A request that takes effect, for each operation; what it leaves behind, counted. */
const CASES: Record<
  string,
  () => Promise<{ path: string; body?: unknown; other?: unknown; count?: () => Promise<number> }>
> = {
  '/admin/v1/companies': async () => ({
    path: '/admin/v1/companies',
    body: { name: 'Keyed' },
    other: { name: 'Other' },
    count: () => countOf('companies', 'name', 'Keyed'),
  }),
  '/admin/v1/companies/{id}/api-keys': async () => ({
    path: `/admin/v1/companies/${companyId}/api-keys`,
    body: { name: 'Keyed key', permissions: ['WhatsApp'], identitySecret: false },
    other: { name: 'Other key', permissions: ['WhatsApp'] },
    count: () => countOf('api_keys', 'name', 'Keyed key'),
  }),
  '/admin/v1/companies/{id}/senders': async () => {
    const sender = await newSender()
    return {
      path: `/admin/v1/companies/${companyId}/senders`,
      body: sender,
      other: { ...sender, isPreferred: true },
      count: () => countOf('senders', 'phone_number_id', sender.phoneNumberId),
    }
  },
  '/admin/v1/failed-events/retry': async () => ({ path: '/admin/v1/failed-events/retry', body: {} }),
  '/admin/v1/unroutable-events/retry': async () => ({ path: '/admin/v1/unroutable-events/retry', body: {} }),
  '/admin/v1/companies/{id}/sign-in-links': async () => ({
    path: `/admin/v1/companies/${companyId}/sign-in-links`,
    body: { name: 'Keyed person', role: 'agent' },
    other: { name: 'Other person', role: 'agent' },
    count: () => countOf('sign_in_links', 'name', 'Keyed person'),
  }),
  '/admin/v1/companies/{id}/templates/sync': async () => ({ path: `/admin/v1/companies/${companyId}/templates/sync` }),
  '/admin/v1/companies/{id}/email-templates': async () => ({
    path: `/admin/v1/companies/${companyId}/email-templates`,
    body: { name: 'Keyed mail', subject: 'Hello', html: '<p>Hello</p>' },
    other: { name: 'Other mail', subject: 'Hello', html: '<p>Hello</p>' },
    count: () => countOf('email_templates', 'name', 'Keyed mail'),
  }),
}

/** They take effect on records that a test makes. */
const RETRIES = ['/admin/v1/failed-events/{id}/retry', '/admin/v1/failed-jobs/{id}/retry']

const countOf = async (table: string, column: string, value: string): Promise<number> => {
  const [row] = await service.db<{ count: number }[]>`
    select count(*)::integer as count from ${service.db(table)} where ${service.db(column)} = ${value}
  `
  return row!.count
}

test('every POST of the operator takes an Idempotency-Key', () => {
  const without = POSTS.filter(
    (path) => !reference.paths[path]!.post!.parameters?.some(({ $ref }) => $ref?.endsWith('/IdempotencyKey')),
  )
  expect(without).toEqual([])
  expect(POSTS.toSorted()).toEqual([...Object.keys(CASES), ...RETRIES].toSorted())
})

describe.each(Object.keys(CASES))('POST %s', (path) => {
  test('takes effect once, and answers a repeat as the first time', async () => {
    const { path: url, body, other, count } = await CASES[path]!()
    const [first, second] = await Promise.all([post(url, `"k ${path}"`, body), post(url, `k ${path}`, body)])
    const answered = [first, second].find(({ status }) => status < 300)!
    expect(
      [first, second].filter((one) => one.status < 300 || one.body.error.code === 'idempotency_key_in_use'),
    ).toHaveLength(2)
    const again = await post(url, `k ${path}`, body)
    expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([
      answered.status,
      answered.text,
      'true',
    ])
    if (count) expect(await count()).toBe(1)
    if (other)
      expect(await post(url, `k ${path}`, other)).toMatchObject({
        status: 422,
        body: { error: { code: 'idempotency_key_reused' } },
      })
    expect(await post(url, '', body)).toMatchObject({ status: 422, body: { error: { code: 'validation_error' } } })
  })
})

test('the token of an API key is kept encrypted', async () => {
  const { body } = await post(`/admin/v1/companies/${companyId}/api-keys`, 'secret', {
    name: 'S',
    permissions: ['WhatsApp'],
  })
  const rows = await service.db<
    { answer: string }[]
  >`select answer_body as answer from operator_keys where answer_body is not null`
  expect(rows.length).toBeGreaterThan(0)
  for (const { answer } of rows) expect(answer).not.toContain(body.token)
})

test('a refused request releases the key; retries take effect once', async () => {
  const refused = await post('/admin/v1/companies/987654321/api-keys', 'again', {
    name: 'S',
    permissions: ['WhatsApp'],
  })
  expect(refused.status).toBe(404)
  const event = `/admin/v1/failed-events/${await storeFailedEvent()}/retry`
  expect((await post('/admin/v1/failed-events/987654321/retry', 'again')).status).toBe(404)
  expect(await post(event, 'again')).toMatchObject({ status: 200, body: { success: true } })
  expect(await post(event, 'again')).toMatchObject({ status: 200, body: { success: true } })
  expect((await post(event, 'another')).status).toBe(404)
  const job = `/admin/v1/failed-jobs/${await storeFailedJob()}/retry`
  expect(await post(job, 'again')).toMatchObject({ status: 200, body: { success: true } })
  expect((await post(job, 'again')).headers.get('idempotent-replayed')).toBe('true')
})
