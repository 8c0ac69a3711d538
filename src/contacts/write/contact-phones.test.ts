import { expect, test } from 'vitest'
import { startContacts } from '../../../test/contacts/contacts-app.ts'

const { db, companyId, call } = await startContacts()

const post = async (phone: string) => {
  const { status, body } = await call('POST', '/contacts', { phone })
  return status === 200 ? body.data[0].phone : body.error
}

test.each([
  ['+44 (0)7700 900100', '+447700900100'],
  ['\u200e+39 328\u00a0123\u20114567', '+393281234567'],
  ['00393281234567', '+393281234567'],
])('a contact with the phone %j has %s', async (text, phone) => {
  expect(await post(text)).toBe(phone)
})

test('a number that its country does not have is refused with the country', async () => {
  expect(await post('+4477009001000')).toMatchObject({
    code: 'invalid_phone_number',
    message: expect.stringContaining('GB (+44)'),
    details: { fields: [{ path: 'phone', message: expect.stringContaining('GB (+44)') }] },
  })
  expect(await post('447700900100.0')).toMatchObject({
    code: 'invalid_phone_number',
    message: expect.stringContaining('spreadsheet'),
  })
})

test('a number that the company knows is written back whatever its length', async () => {
  const [contact] = await db<{ id: number }[]>`
    insert into contacts (company_id, phone, phone_identity, search_text, source, source_type, status)
    values (${companyId}, '4477009001000', '4477009001000', '4477009001000', 'WhatsApp', 'parley', 'active')
    returning id
  `
  const { body } = await call('GET', `/contacts/${contact!.id}`)
  const { phone } = body.data
  expect(await call('PUT', `/contacts/${contact!.id}`, { phone })).toMatchObject({
    status: 200,
    body: { data: { phone } },
  })
  expect(await post(phone)).toBe(phone)
  expect(await post('+4477009001009')).toMatchObject({ code: 'invalid_phone_number' })
})
