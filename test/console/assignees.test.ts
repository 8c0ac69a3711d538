import { expect, test } from 'vitest'
import { eventually, uniquePhone } from '../service.ts'
import { startConsole } from './world/console-client.ts'

const service = await startConsole({ mirrors: true })
const { control, createCompany, operator, signIn, codeOf, db } = service
const PATH = '/whatsapp/assignees'

async function signInAs(companyId: number, name: string) {
  const link = await operator('POST', `/companies/${companyId}/sign-in-links`, { name })
  return signIn(codeOf(link.body.url))
}

test('everyone who has or had a session can be found, those who signed in last first', async () => {
  const { api, companyId } = await createCompany({ isConnected: false })
  const other = await createCompany({ isConnected: false })
  const names = async (as = api) => (await as('GET', PATH)).body.data.map(({ name }: { name: string }) => name)
  expect(await names()).toEqual([])
  const mara = await signInAs(companyId, 'Mara')
  await signInAs(companyId, 'Jonas')
  expect(await names()).toEqual(['Jonas', 'Mara'])
  await mara.page('DELETE', '/session')
  expect(await names()).toEqual(['Jonas', 'Mara'])
  await signInAs(companyId, 'Mara')
  expect(await names()).toEqual(['Mara', 'Jonas'])
  // Too long to be an assignee.
  await signInAs(companyId, 'x'.repeat(101))
  expect(await names()).toHaveLength(2)
  expect(await names(other.api)).toEqual([])
})

test('a name that the API assigned is in the list, without a time', async () => {
  const { api, phoneNumberId } = await createCompany()
  await control('POST', '/inbound', { phoneNumberId, from: uniquePhone(), type: 'text', text: { body: 'Hello' } })
  const chatId = await eventually(async () => (await api('GET', '/whatsapp/conversations')).body.data[0]?.chatId)
  await api('PATCH', `/whatsapp/conversations/${chatId}`, { assignee: ' Night shift ' })
  await api('PATCH', `/whatsapp/conversations/${chatId}`, { assignee: null })
  expect((await api('GET', PATH)).body.data).toEqual([{ name: 'Night shift', signedInAt: null }])
})

test('a company keeps the 1,000 names that signed in last', async () => {
  const { api, companyId } = await createCompany({ isConnected: false })
  await db`
    insert into assignees (company_id, name, signed_in_at)
    select ${companyId}, 'person ' || number, now() - number * interval '1 day' from generate_series(1, 1000) as number`
  await signInAs(companyId, 'Mara')
  const { data } = (await api('GET', PATH)).body
  expect(data).toHaveLength(1_000)
  expect([data[0].name, data[999].name]).toEqual(['Mara', 'person 999'])
})
