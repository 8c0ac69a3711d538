import { expect, test } from 'vitest'
import { startTestService } from '../service.ts'

const { createCompany } = await startTestService({ mirrors: true })
const PATH = '/whatsapp/quick-replies'
const THANKS = { title: 'thanks', text: 'Thank you {{name}}!' }

test('quick replies are created, listed by title, changed and deleted', async () => {
  const { api } = await createCompany({ isConnected: false })
  const created = await api('POST', PATH, { title: '  Thanks ', text: ' Thank you {{name}}!\n' })
  expect(created).toMatchObject({ status: 201, body: { data: { ...THANKS, title: 'Thanks' } } })
  const { id } = created.body.data
  await api('POST', PATH, { title: 'hours', text: 'We are open from 9 to 18.' })
  expect((await api('GET', PATH)).body.data).toMatchObject([{ title: 'hours' }, { id, title: 'Thanks' }])
  const changed = await api('PATCH', `${PATH}/${id}`, { text: 'Thanks!' })
  expect(changed).toMatchObject({ status: 200, body: { data: { id, title: 'Thanks', text: 'Thanks!' } } })
  expect((await api('DELETE', `${PATH}/${id}`)).body).toEqual({ success: true })
  expect((await api('GET', PATH)).body.data).toMatchObject([{ title: 'hours' }])
})

test('a title stands once in a company, in any letter case', async () => {
  const { api } = await createCompany({ isConnected: false })
  const other = await createCompany({ isConnected: false })
  expect((await api('POST', PATH, THANKS)).status).toBe(201)
  const hours = await api('POST', PATH, { ...THANKS, title: 'hours' })
  const error = { code: 'duplicate_resource', message: 'A quick reply with the title THANKS exists already' }
  expect(await api('POST', PATH, { ...THANKS, title: 'THANKS' })).toMatchObject({ status: 409, body: { error } })
  const renamed = await api('PATCH', `${PATH}/${hours.body.data.id}`, { title: 'THANKS' })
  expect(renamed).toMatchObject({ status: 409, body: { error } })
  expect((await other.api('POST', PATH, THANKS)).status).toBe(201)
})

test.each([
  [{ text: 'x' }, ['title']],
  [{ title: ' ', text: ' ' }, ['text', 'title']],
  [{ title: 'x'.repeat(61), text: 'x'.repeat(4_097) }, ['text', 'title']],
  [{ title: 'a\nb', text: 'x' }, ['title']],
  [{ title: 'a', text: 'a\u0000' }, ['text']],
])('values out of bounds are refused with their fields, case %#', async (body, fields) => {
  const { api } = await createCompany({ isConnected: false })
  const answer = await api('POST', PATH, body)
  expect([400, 422]).toContain(answer.status)
  const named = answer.body.error.details.fields.map(({ path }: { path: string }) => path)
  expect([...new Set(named)].sort()).toEqual(fields)
})

test('a quick reply of another company answers like a missing one', async () => {
  const [one, other] = [await createCompany({ isConnected: false }), await createCompany({ isConnected: false })]
  const { id } = (await one.api('POST', PATH, THANKS)).body.data
  for (const missing of [id, 987654321, 'x']) {
    for (const [method, body] of [
      ['PATCH', { text: 'x' }],
      ['DELETE', undefined],
    ] as const) {
      const answer = await other.api(method, `${PATH}/${missing}`, body)
      expect([answer.status, answer.body]).toEqual([404, { message: 'Quick reply not found' }])
    }
  }
  expect((await one.api('GET', PATH)).body.data).toMatchObject([THANKS])
  expect((await one.api('PATCH', `${PATH}/${id}`, {})).status).toBe(400)
})

test('a company has at most 200 quick replies', async () => {
  const { api } = await createCompany({ isConnected: false })
  for (let number = 1; number <= 200; number += 1) await api('POST', PATH, { title: `title ${number}`, text: 'x' })
  const answer = await api('POST', PATH, THANKS)
  expect([answer.status, answer.body.error.code]).toEqual([422, 'validation_error'])
  expect((await api('GET', PATH)).body.data).toHaveLength(200)
})
