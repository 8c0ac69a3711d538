import fc from 'fast-check'
import { expect, test } from 'vitest'
import { propertyRuns } from '../run/property-runs.ts'
import { startTestService } from '../service.ts'

const service = await startTestService()
const company = await service.createCompany()
const runs = { numRuns: propertyRuns(25) }

const text = (maxLength: number) =>
  fc.string({ unit: 'grapheme', minLength: 1, maxLength }).filter((one) => !one.includes('\0'))
const json = fc.oneof(
  text(20),
  fc.integer(),
  fc.boolean(),
  fc.array(fc.integer(), { maxLength: 3 }),
  fc.record({ a: text(5) }),
)
const fields = fc.dictionary(text(20), json, { maxKeys: 5 })
let count = 0

/** Writes the record that an address answers back to it; returns both. */
async function writeBack(
  method: 'PUT' | 'PATCH',
  path: string,
  read: () => Promise<unknown>,
  unwrap: (body: unknown) => unknown,
) {
  const before = await read()
  const { status, body } = await company.api(method, path, before)
  expect([status, body.error]).toEqual([200, undefined])
  expect(unwrap(body)).toEqual(before)
  expect(await read()).toEqual(before)
}

const dataOf = (body: unknown) => (body as { data: unknown }).data

test('any contact can be written back as it was read', { timeout: propertyRuns(60_000) }, async () => {
  const contact = fc.record(
    {
      first_name: text(20),
      lastName: text(20),
      status: text(20),
      source: text(20),
      source_type: fc.constantFrom('database', 'third_party'),
      external_id: text(20),
      tags: fc.array(text(10), { maxLength: 3 }),
      custom_fields: fields,
      marketing_consent: fc.record({ email: fc.boolean(), whatsapp: fc.boolean() }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  )
  const identities = fc.subarray(['email', 'phone'], { minLength: 1 })
  await fc.assert(
    fc.asyncProperty(contact, identities, async (members, named) => {
      count += 1
      const created = await company.api('POST', '/contacts', {
        ...members,
        ...(named.includes('email') && { email: `Ada${count}@Example.com` }),
        ...(named.includes('phone') && { phone: `+39333${1_000_000 + count}` }),
      })
      expect(created.status).toBe(200)
      const path = `/contacts/${created.body.data[0].id}`
      const [history, read] = [`${path}/consent`, async () => (await company.api('GET', path)).body.data]
      const statements = (await company.api('GET', history)).body
      await writeBack('PUT', path, read, dataOf)
      expect((await company.api('GET', history)).body).toEqual(statements)
    }),
    runs,
  )
})

test('a contact that a send created, or whose address is suppressed, can be written back, too', async () => {
  const [sent] = await service.db<{ id: number }[]>`
    insert into contacts (company_id, phone, phone_identity, search_text, source, source_type)
    values (${company.companyId}, '12345678', '12345678', '', 'WhatsApp', 'service')
    returning id
  `
  const mailed = await company.api('POST', '/contacts', { email: 'suppressed@example.com' })
  await service.db`
    insert into email_suppressions (company_id, address, reason)
    values (${company.companyId}, 'suppressed@example.com', 'bounce')
  `
  const suppressed = (await company.api('GET', `/contacts/${mailed.body.data[0].id}`)).body.data
  expect(suppressed.email_suppression.reason).toBe('bounce')
  for (const id of [sent?.id, mailed.body.data[0].id]) {
    const path = `/contacts/${id}`
    const before = (await company.api('GET', path)).body.data
    expect((await company.api('PUT', path, before)).status).toBe(200)
    expect((await company.api('GET', path)).body.data).toEqual(before)
  }
})

test('any registration can be written back as it was read, also without its number', {
  timeout: propertyRuns(60_000),
}, async () => {
  const name = fc.stringMatching(/^X-[A-Za-z]{1,10}$/)
  const registration = fc.record(
    {
      name: text(20),
      method: fc.constantFrom('POST', 'GET'),
      ordered: fc.boolean(),
      secret: fc.constant('a-secret-of-the-receiver'),
      headers: fc.uniqueArray(fc.record({ key: name, value: fc.stringMatching(/^[a-z]{0,9}$/) }), {
        maxLength: 3,
        selector: ({ key }) => key.toLowerCase(),
      }),
    },
    { requiredKeys: ['name'] },
  )
  const number = (await service.connectSender(company.companyId)).body
  await fc.assert(
    fc.asyncProperty(registration, fc.boolean(), fc.boolean(), async (members, isLimited, isInactive) => {
      const created = await company.api('POST', '/webhooks/registrations', {
        url: 'https://shop.example.com/hooks',
        events: ['whatsapp.message.received', 'contact.changed'],
        ...members,
        ...(isLimited && { channelIds: [number.channelId] }),
      })
      expect(created.status).toBe(201)
      const path = `/webhooks/registrations/${created.body.id}`
      if (isInactive)
        await service.db`
        update registrations set status = 'inactive', paused_reason = 'no_success', paused_at = now()
        where id = ${created.body.id}
      `
      const stored = () => service.db`select * from registrations where id = ${created.body.id}`
      const before = await stored()
      await writeBack(
        'PUT',
        path,
        async () => (await company.api('GET', path)).body,
        (body) => body,
      )
      expect(await stored()).toEqual(before)
    }),
    runs,
  )
  const limited = await company.api('POST', '/webhooks/registrations', {
    name: 'Limited',
    url: 'https://shop.example.com/hooks',
    events: ['whatsapp.message.received'],
    channelIds: [number.channelId],
  })
  expect((await service.operator('DELETE', `/companies/${company.companyId}/senders/${number.channelId}`)).status).toBe(
    200,
  )
  const path = `/webhooks/registrations/${limited.body.id}`
  const read = (await company.api('GET', path)).body
  expect(await company.api('PUT', path, { ...read, name: 'Renamed' })).toMatchObject({
    status: 200,
    body: { ...read, name: 'Renamed' },
  })
})

test('any custom field can be written back as it was read', { timeout: propertyRuns(60_000) }, async () => {
  const definition = fc.record(
    {
      displayName: text(20),
      type: fc.constantFrom('text', 'number', 'select', 'json'),
      category: text(10),
      visibility: fc.boolean(),
      metadata: fields,
    },
    { requiredKeys: ['displayName', 'type'] },
  )
  await fc.assert(
    fc.asyncProperty(definition, fc.boolean(), async (members, isRetired) => {
      count += 1
      const { body } = await company.api('POST', '/custom-fields', {
        ...members,
        key: `K${count}`,
        ...(members.type === 'select' && { allowedValues: ['a', 'b'] }),
      })
      const path = `/custom-fields/${body.data.id}`
      if (isRetired) await company.api('PATCH', path, { retired: true })
      const read = async () => {
        const { body: list } = await company.api('GET', '/custom-fields?includeRetired=true')
        return list.data.find(({ id }: { id: number }) => id === body.data.id)
      }
      await writeBack('PATCH', path, read, dataOf)
    }),
    runs,
  )
})

test('every template can be written back as it was read', async () => {
  const { data } = (await company.api('GET', '/templates/whatsapp')).body
  expect(data.length).toBeGreaterThan(3)
  for (const template of data) {
    const path = `/templates/whatsapp/${template.name}/${template.language}`
    const read = async () => {
      const { body } = await company.api('GET', '/templates/whatsapp')
      return body.data.find(
        ({ name, language }: { name: string; language: string }) =>
          name === template.name && language === template.language,
      )
    }
    await writeBack('PUT', path, read, dataOf)
  }
})

test.each([
  ['the names of the record', { first_name: 'Ada', marketing_consent: { email: false } }, 200, []],
  ['both names of a member', { firstName: 'Ada', first_name: 'Ada' }, 422, ['first_name']],
  [
    'a member that only the service sets',
    { id: 1, company: 1, created_at: '2020-01-01T00:00:00Z' },
    422,
    ['id', 'created_at'],
  ],
  [
    'a member of a later version',
    { email_suppression: { reason: 'bounce', since: '2020-01-01T00:00:00Z' } },
    422,
    ['email_suppression'],
  ],
  ['another case', { Email: 'b@example.com' }, 422, ['Email']],
  ['a consent that is taken back', { marketing_consent: { email: null } }, 422, ['marketing_consent.email']],
])('a change of a contact with %s', async (_what, change, status, paths) => {
  count += 1
  const email = `ada.${count}@example.com`
  const { body } = await company.api('POST', '/contacts', { email, marketingConsent: { email: true } })
  const path = `/contacts/${body.data[0].id}`
  const changed = await company.api('PUT', path, { ...body.data[0], ...change })
  const found = changed.body.error?.details.fields.map((field: { path: string }) => field.path) ?? []
  expect([changed.status, found.filter((one: string) => one !== 'company')]).toEqual([status, paths])
  const after = (await company.api('GET', path)).body.data
  expect(after.marketing_consent.email).toBe(status !== 200)
})

test('a create-or-update takes a record as it was read, and refuses one that has changed since', async () => {
  const { body } = await company.api('POST', '/contacts', { email: 'read@example.com' })
  const [record] = body.data
  expect((await company.api('POST', '/contacts', record)).status).toBe(200)
  expect((await company.api('PUT', `/contacts/${record.id}`, { status: 'new' })).status).toBe(200)
  const late = await company.api('POST', '/contacts', record)
  expect([late.status, late.body.error.details.fields[0].path]).toEqual([422, 'updated_at'])
})
