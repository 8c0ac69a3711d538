import { beforeAll, describe, expect, test } from 'vitest'
import { PROVIDER_NAMES } from '../../src/providers/provider-names.ts'
import { startReceiver } from '../receiver.ts'
import { eventually, uniquePhone } from '../service.ts'
import { SEND, startTransports } from './transports-world.ts'

const { service, connected } = await startTransports()
const { control, operator, db } = service
type Connected = Awaited<ReturnType<typeof connected>>

const contents = {
  category: 'UTILITY',
  components: [
    { type: 'BODY', text: 'Hello {{1}}, your table is ready.', example: { body_text: [['Ada']] } },
    { type: 'FOOTER', text: 'Rossi' },
    { type: 'BUTTONS', buttons: [{ type: 'QUICK_REPLY', text: 'I come' }] },
  ],
}
const PATH = '/templates/whatsapp/table_ready/it'

const listed = async (company: Connected, name = 'table_ready') =>
  (await company.api('GET', '/templates/whatsapp')).body.data.filter((one: { name: string }) => one.name === name)

/** The templates of that name at the provider. */
const atProvider = async (company: Connected, name = 'table_ready') =>
  (await control('GET', '/templates')).body.filter(
    (one: Record<string, unknown>) => one.name === name && one.wabaAccountId === company.wabaAccountId,
  )

async function report(company: Connected, status: string, more: object = {}) {
  const [template] = await atProvider(company)
  await control('POST', `/templates/${template.id}/status`, { status, ...more })
}

const untilListed = (company: Connected, status: string) =>
  eventually(async () => {
    const [template] = await listed(company)
    return template?.status === status && template
  })

describe.each(PROVIDER_NAMES)('a template through %s', (provider) => {
  let company: Connected
  beforeAll(async () => {
    company = await connected(provider)
  })

  test('is created, and listed as pending at once', async () => {
    const { status, body } = await company.api('PUT', PATH, contents)
    expect([status, body.error]).toEqual([201, undefined])
    expect(body.data).toMatchObject({ name: 'table_ready', language: 'it', status: 'PENDING', category: 'UTILITY' })
    expect(await listed(company)).toEqual([body.data])
    const [created] = await atProvider(company)
    expect(created).toMatchObject({ status: 'PENDING', category: 'UTILITY' })
    expect(created.components.map(({ type, text }: { type: string; text?: string }) => [type, text])).toEqual(
      contents.components.map(({ type, text }) => [type, text]),
    )
    const template = {
      name: 'table_ready',
      components: [{ type: 'BODY', parameters: [{ type: 'text', text: 'Ada' }] }],
    }
    const refused = await company.api('POST', SEND, { recipient: uniquePhone(), type: 'template', template })
    expect(refused.body.error.code).toBe('template_not_approved')
  })

  test('that is saved again as it is changes nothing', async () => {
    const { status, body } = await company.api('PUT', PATH, contents)
    expect([status, body.data.status]).toEqual([200, 'PENDING'])
    expect(await atProvider(company)).toHaveLength(1)
  })

  test('gets its status from the event, and can then be sent', async () => {
    await report(company, 'APPROVED')
    await untilListed(company, 'APPROVED')
    const template = {
      name: 'table_ready',
      components: [{ type: 'BODY', parameters: [{ type: 'text', text: 'Ada' }] }],
    }
    const sent = await company.api('POST', SEND, { recipient: uniquePhone(), type: 'template', template })
    expect([sent.status, sent.body.error]).toEqual([200, undefined])
    await operator('POST', `/companies/${company.companyId}/templates/sync`)
    expect(await listed(company)).toMatchObject([{ status: 'APPROVED' }])
  })

  test('is changed and reviewed again, where the transport can', async () => {
    const [body, ...rest] = contents.components
    const components = [{ ...body, text: 'Dear {{1}}, your table is ready.' }, ...rest]
    const changed = await company.api('PUT', PATH, { ...contents, components })
    if (provider === 'dialog360') {
      expect([changed.status, changed.body.error.details.fields]).toEqual([
        422,
        [{ path: 'components', message: 'a change of a template is not supported by the transport dialog360' }],
      ])
      return
    }
    expect([changed.status, changed.body.data?.status]).toEqual([200, 'PENDING'])
    const [template] = await atProvider(company)
    expect(template.components[0].text).toBe('Dear {{1}}, your table is ready.')
    await report(company, 'REJECTED', { reason: 'INVALID_FORMAT' })
    expect(await untilListed(company, 'REJECTED')).toMatchObject({ rejected_reason: 'INVALID_FORMAT' })
  })

  test('is refused with the reason of the provider', async () => {
    await operator('POST', `/companies/${company.companyId}/templates/sync`)
    await control('POST', '/templates', {
      wabaAccountId: company.wabaAccountId,
      name: 'taken',
      language: 'it',
      category: 'UTILITY',
      components: [{ type: 'BODY', text: 'Taken' }],
    })
    const { status, body } = await company.api('PUT', '/templates/whatsapp/taken/it', contents)
    expect([status, body.error.code]).toEqual([422, 'validation_error'])
    const [field] = body.error.details.fields
    expect(field).toEqual({ path: 'template', message: expect.stringContaining('taken exists already in it') })
  })

  test('is not refused by a provider that asks to wait: 429 with the time', async () => {
    const busy = await startReceiver((_, response) => response.writeHead(429, { 'retry-after': '7' }).end('Slower'))
    const { companyId, path, sender, api } = await connected(provider)
    await operator('PATCH', `${path}/${sender.channelId}`, { apiBaseUrl: busy.url.slice(0, -1) })
    const saved = await api('PUT', PATH, contents)
    expect([saved.status, saved.headers.get('retry-after')]).toEqual([429, '7'])
    const synced = await operator('POST', `/companies/${companyId}/templates/sync`)
    expect([synced.status, synced.headers.get('retry-after')]).toEqual([429, '7'])
  })

  test('is deleted in all languages, here and at the provider', async () => {
    expect((await company.api('PUT', '/templates/whatsapp/table_ready/en', contents)).status).toBe(201)
    const { status, body } = await company.api('DELETE', '/templates/whatsapp/table_ready')
    expect([status, body]).toEqual([200, { success: true }])
    expect(await listed(company)).toEqual([])
    expect(await atProvider(company)).toEqual([])
    const again = await company.api('DELETE', '/templates/whatsapp/table_ready')
    expect([again.status, again.body.error.code]).toEqual([404, 'template_not_found'])
  })
})

test('a template that an earlier request created without recording it is recorded by the next one', async () => {
  const company = await connected('meta')
  expect((await company.api('PUT', PATH, contents)).status).toBe(201)
  await db`delete from templates where company_id = ${company.companyId} and language = 'it' and status = 'PENDING'`
  const { status, body } = await company.api('PUT', PATH, contents)
  expect([status, body.data.status]).toEqual([201, 'PENDING'])
  expect(await atProvider(company)).toHaveLength(1)
})

test('Gupshup takes no templates of the category AUTHENTICATION', async () => {
  const company = await connected('gupshup')
  const components = [
    { type: 'BODY', add_security_recommendation: true },
    { type: 'BUTTONS', buttons: [{ type: 'OTP', otp_type: 'COPY_CODE' }] },
  ]
  const { status, body } = await company.api('PUT', PATH, { category: 'AUTHENTICATION', components })
  expect([status, body.error.details.fields]).toEqual([
    422,
    [
      {
        path: 'category',
        message: 'a template of the category AUTHENTICATION is not supported by the transport gupshup',
      },
    ],
  ])
  expect(await atProvider(company)).toEqual([])
})

test('the rules of the provider are checked before it is asked', async () => {
  const company = await connected('meta')
  const components = [
    { type: 'HEADER', format: 'IMAGE' },
    { type: 'BODY', text: '{{2}} is ready', example: { body_text: [['Ada', 'Bob']] } },
    { type: 'BUTTONS', buttons: [{ type: 'URL', text: 'x'.repeat(26), url: 'https://example.com/{{1}}/orders' }] },
  ]
  const { status, body } = await company.api('PUT', PATH, { category: 'UTILITY', components })
  expect([status, body.error.code]).toEqual([422, 'validation_error'])
  expect(body.error.details.fields.map(({ path }: { path: string }) => path).toSorted()).toEqual([
    'components[0].example.header_handle',
    'components[1].example',
    'components[1].text',
    'components[1].text',
    'components[2].buttons[0].example',
    'components[2].buttons[0].text',
    'components[2].buttons[0].url',
  ])
  expect(await atProvider(company)).toEqual([])
})

/** A picture that WhatsApp takes. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

async function upload(company: Connected, bytes: Buffer | string, filename: string) {
  const answer = await fetch(`${service.url}/public/v1/whatsapp/media?filename=${filename}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${company.key.token}`, 'content-type': 'application/octet-stream' },
    body: typeof bytes === 'string' ? bytes : new Uint8Array(bytes),
  })
  expect(answer.status).toBe(201)
  return ((await answer.json()) as { data: { mediaId: string } }).data.mediaId
}

describe.each(PROVIDER_NAMES)('through %s', (provider) => {
  const refusalOf = (path: string, what: string) => [
    422,
    [{ path, message: `${what} is not supported by the transport ${provider}` }],
  ]

  test('a template has a time to live, where the transport can', async () => {
    const company = await connected(provider)
    const { status, body } = await company.api('PUT', PATH, { ...contents, ttlSeconds: 3_600 })
    if (provider === 'gupshup') {
      expect([status, body.error.details.fields]).toEqual(refusalOf('ttlSeconds', 'a time to live'))
      expect(await atProvider(company)).toEqual([])
      return
    }
    expect([status, body.data?.message_send_ttl_seconds]).toEqual([201, 3_600])
    expect((await atProvider(company))[0].message_send_ttl_seconds).toBe(3_600)
    await report(company, 'APPROVED')
    await untilListed(company, 'APPROVED')
    await operator('POST', `/companies/${company.companyId}/templates/sync`)
    expect(await listed(company)).toMatchObject([{ message_send_ttl_seconds: 3_600, status: 'APPROVED' }])
    const same = await company.api('PUT', PATH, contents)
    expect([same.status, same.body.data.status]).toEqual([200, 'APPROVED'])
    if (provider !== 'meta') return
    const longer = await company.api('PUT', PATH, { ...contents, ttlSeconds: 7_200 })
    expect([longer.status, longer.body.data.message_send_ttl_seconds]).toEqual([200, 7_200])
    expect((await atProvider(company))[0].message_send_ttl_seconds).toBe(7_200)
  })

  test('the sample of a header is an uploaded file, where the transport can', async () => {
    const company = await connected(provider)
    const mediaId = await upload(company, PNG, 'table.png')
    const withSample = (example: object) => ({
      ...contents,
      components: [{ type: 'HEADER', format: 'IMAGE', example }, ...contents.components],
    })
    const { status, body } = await company.api('PUT', PATH, withSample({ mediaId }))
    if (provider === 'dialog360') {
      const path = 'components[0].example.mediaId'
      expect([status, body.error.details.fields]).toEqual(refusalOf(path, 'a sample by its mediaId'))
      return
    }
    expect([status, body.error]).toEqual([201, undefined])
    const [created] = await atProvider(company)
    expect(created.components[0]).toEqual({
      type: 'HEADER',
      format: 'IMAGE',
      example: { header_handle: [expect.stringMatching(/^4::/)] },
    })
    const same = await company.api('PUT', PATH, withSample({ mediaId }))
    expect([same.status, same.body.data.status]).toEqual([200, 'PENDING'])
    const unknown = await company.api('PUT', '/templates/whatsapp/other/it', withSample({ header_handle: ['4::x'] }))
    expect(unknown.body.error.details.fields[0].message).toContain('header_handle is missing or invalid')
  })
})

test.each([
  [{ mediaId: 'med_none' }, 404, undefined],
  [{ mediaId: '' }, 422, 'components[0].example.mediaId'],
  [{ mediaId: 'x'.repeat(65) }, 422, 'components[0].example.mediaId'],
  [{ mediaId: 'med_none', header_handle: ['4::x'] }, 422, 'components[0].example.mediaId'],
  [{}, 422, 'components[0].example.header_handle'],
])('the sample %j is answered %i', async (example, expected, path) => {
  const company = await connected('meta')
  const components = [{ type: 'HEADER', format: 'IMAGE', example }, ...contents.components]
  const { status, body } = await company.api('PUT', PATH, { ...contents, components })
  expect([status, body.error?.details.fields[0].path]).toEqual([expected, path])
})

test('a sample is a file of the company, of the kind of the header', async () => {
  const [company, other] = [await connected('meta'), await connected('meta')]
  const put = (mediaId: string) =>
    company.api('PUT', PATH, {
      ...contents,
      components: [{ type: 'HEADER', format: 'VIDEO', example: { mediaId } }, ...contents.components],
    })
  expect((await put(await upload(other, PNG, 'table.png'))).body).toEqual({ message: 'Media not found' })
  const { status, body } = await put(await upload(company, PNG, 'table.png'))
  expect([status, body.error.details.fields]).toEqual([
    422,
    [{ path: 'components[0].example.mediaId', message: 'names a file of the kind image, not video' }],
  ])
})

test.each([
  ['UTILITY', 43_201],
  ['AUTHENTICATION', 901],
  ['MARKETING', 43_199],
])('a time to live of %s is not %i seconds', async (category, ttlSeconds) => {
  const company = await connected('meta')
  const { status, body } = await company.api('PUT', PATH, { ...contents, category, ttlSeconds })
  expect([status, body.error.details.fields.map(({ path }: { path: string }) => path)]).toEqual([422, ['ttlSeconds']])
})
