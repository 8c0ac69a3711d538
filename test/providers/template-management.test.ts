import { beforeAll, describe, expect, test } from 'vitest'
import { PROVIDER_NAMES } from '../../src/providers/provider-name.ts'
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
    expect(field).toEqual({ path: 'template', message: expect.stringContaining('taken already exists in it') })
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
