import { expect, test } from 'vitest'
import { startTestService } from '../service.ts'

const service = await startTestService({ mirrors: true })
const company = await service.createCompany()
const operator = `/admin/v1/companies/${company.companyId}`

type Case = [route: string, body: unknown, status: number, code: string, paths: string[]]

// Each body is wrong in a value and also in a type, a length or a member that is absent or does not belong.
const cases: Case[] = [
  ['POST /public/v1/contacts', { email: 'no', tags: 'x' }, 422, 'validation_error', ['email', 'tags']],
  [
    'POST /public/v1/contacts',
    { email: 'no', phone: '12', status: 7 },
    422,
    'validation_error',
    ['email', 'phone', 'status'],
  ],
  ['POST /public/v1/contacts', { phone: '12' }, 422, 'invalid_phone_number', ['phone']],
  ['POST /public/v1/contacts', { tags: 'x', source_type: 'mine' }, 400, 'bad_request', ['', 'source_type', 'tags']],
  [
    'POST /public/v1/contacts',
    [{ email: 'no', status: 7 }, { phone: 'x' }],
    422,
    'validation_error',
    ['0.email', '0.status', '1.phone'],
  ],
  [
    'POST /public/v1/custom-fields',
    { key: '1 a', displayName: 'A', type: 'select', category: 7 },
    422,
    'validation_error',
    ['allowedValues', 'category', 'key'],
  ],
  [
    'POST /public/v1/custom-fields',
    { key: '1 a', displayName: 7, type: 'text', allowedValues: ['a'] },
    422,
    'validation_error',
    ['allowedValues', 'displayName', 'key'],
  ],
  [
    'POST /public/v1/templates/whatsapp/send',
    { recipient: 'x', type: 'image', media: { link: 'http://a.example/b.png' }, contactSource: '' },
    422,
    'validation_error',
    ['contactSource', 'media.link', 'recipient'],
  ],
  [
    'POST /public/v1/templates/whatsapp/send',
    { recipient: '393331234567', type: 'image', media: { link: 'http://a.example/b.png', caption: 7 } },
    422,
    'validation_error',
    ['media.caption', 'media.link'],
  ],
  [
    'POST /public/v1/templates/whatsapp/send',
    { recipient: 'x', type: 'audio', text: 'a', media: { link: 'http://a.example', caption: 'c' } },
    400,
    'bad_request',
    ['media.caption', 'media.link', 'recipient', 'text'],
  ],
  [
    'POST /public/v1/templates/whatsapp/send',
    { recipient: '393331234567', type: 'text', text: 'a'.repeat(4097) },
    422,
    'validation_error',
    ['text'],
  ],
  [
    'POST /public/v1/templates/whatsapp/send',
    { recipient: 'x', type: 'image', media: { link: 7 } },
    422,
    'validation_error',
    ['media.link', 'recipient'],
  ],
  [
    'POST /public/v1/templates/whatsapp/send',
    { recipient: 'x', type: 'template', template: { name: 7, id: 'tmpl_1' } },
    400,
    'bad_request',
    ['recipient', 'template.id', 'template.name'],
  ],
  [
    'POST /public/v1/templates/whatsapp/send',
    { recipient: 'x', type: 'template', template: { name: '', components: 7 } },
    422,
    'validation_error',
    ['recipient', 'template.components', 'template.name'],
  ],
  [
    'POST /public/v1/templates/whatsapp/send',
    { recipient: '393331234567', type: 'text', text: 'a', media: 7 },
    400,
    'bad_request',
    ['media'],
  ],
  [
    'POST /public/v1/templates/whatsapp/send',
    { recipient: 'x', type: 'text', text: 'a' },
    422,
    'invalid_phone_number',
    ['recipient'],
  ],
  [
    'POST /public/v1/emails',
    { to: 'no', subject: 'a\nb', html: 7, replyTo: 'no', headers: { To: 'a' } },
    422,
    'validation_error',
    ['headers.To', 'html', 'replyTo', 'subject', 'to'],
  ],
  ['POST /public/v1/emails', { to: 'no', subject: 'a', replyTo: 'no' }, 400, 'bad_request', ['html', 'replyTo', 'to']],
  [
    'POST /public/v1/templates/email/send',
    { uid: '', recipient: 'no', customFields: { a: { b: {} } } },
    422,
    'validation_error',
    ['customFields.a', 'recipient', 'uid'],
  ],
  [
    'POST /public/v1/webhooks/registrations',
    { name: 7, url: 'ftp://a.example', events: [] },
    422,
    'validation_error',
    ['events', 'name', 'url'],
  ],
  ['POST /public/v1/webhooks/registrations', { url: 'ftp://a.example' }, 400, 'bad_request', ['events', 'name', 'url']],
  [
    `POST ${operator}/api-keys`,
    { name: ' ', permissions: ['Admin', 7], allowedOrigins: ['*', null], expiresAt: '2020-01-01' },
    422,
    'validation_error',
    ['allowedOrigins[0]', 'allowedOrigins[1]', 'expiresAt', 'name', 'permissions[0]', 'permissions[1]'],
  ],
  [`POST ${operator}/api-keys`, { permissions: ['Admin'] }, 400, 'bad_request', ['name', 'permissions[0]']],
  [
    `POST ${operator}/senders`,
    {
      provider: 'meta',
      phoneNumberId: ' ',
      wabaAccountId: '1',
      accessToken: 7,
      phoneNumber: 'x',
      apiBaseUrl: 'ftp://a',
    },
    422,
    'validation_error',
    ['accessToken', 'apiBaseUrl', 'phoneNumber', 'phoneNumberId'],
  ],
  [
    `POST /admin/v1/companies`,
    { name: ' ', rateLimitPerMinute: 'x' },
    422,
    'validation_error',
    ['name', 'rateLimitPerMinute'],
  ],
  [
    `POST ${operator}/email-templates`,
    { name: ' ', subject: '{{', html: '{% nothing %}', text: 7 },
    422,
    'validation_error',
    ['html', 'name', 'subject', 'text'],
  ],
  [
    `PUT ${operator}/email-settings`,
    { from: 'no', fromName: 'x'.repeat(1000), smtpUrl: 'http://a' },
    422,
    'validation_error',
    ['from', 'fromName', 'smtpUrl'],
  ],
]

test.each(cases)('%s %j names every field at fault at once', async (route, body, status, code, paths) => {
  const [method = '', path = ''] = route.split(' ')
  const answer = path.startsWith('/admin')
    ? await service.operator(method, path.slice('/admin/v1'.length), body)
    : await company.api(method, path.slice('/public/v1'.length), body)
  const { error } = answer.body
  expect({ status: answer.status, code: error.code, paths: pathsOf(error) }).toEqual({ status, code, paths })
})

test('a list that is too long is named alone: nothing else is known of its body', async () => {
  const body = { name: ' ', permissions: Array(30).fill(7), allowedOrigins: 7, expiresAt: 7 }
  const answer = await service.operator('POST', `${operator.slice('/admin/v1'.length)}/api-keys`, body)
  expect([answer.status, pathsOf(answer.body.error)]).toEqual([422, ['permissions']])
})

const pathsOf = (error: { details?: { fields: { path: string }[] } }): string[] =>
  [...new Set(error.details?.fields.map(({ path }) => path))].sort()
