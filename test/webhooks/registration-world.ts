import { afterAll, expect } from 'vitest'
import { updateCompany } from '../../src/companies/company.ts'
import { registrationRoutes } from '../../src/webhooks/registrations/registration-routes.ts'
import { createTestApi } from '../api.ts'
import { createTestDatabase } from '../database.ts'
import { createCaller, createCompany, testCipher } from '../webhook-fixture.ts'

export const PATH = '/public/v1/webhooks/registrations'

export const valid = { name: 'CRM', url: 'https://hooks.example.com/in?x=1', events: ['whatsapp.message.received'] }

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

export const faultsOf = ({ body }: { body: { error: { details: { fields: { path: string }[] } } } }) =>
  body.error.details.fields.map(({ path }) => path).sort()

export const missing = { status: 404, body: { message: 'Webhook registration not found' } }

/** The routes of registrations, one app of which allows private addresses. */
export async function startRegistrations() {
  const { db } = await createTestDatabase({ mirrors: true })
  const callAs = createCaller(db)
  const start = async (allowPrivate: boolean) => {
    const deps = { db, cipher: testCipher, rules: { allowPrivate, serviceName: 'Acme' }, onChanged: async () => {} }
    return (await createTestApi({ db, routes: (on) => void on.register(registrationRoutes(deps)) })).app
  }
  const app = await start(false)
  const local = await start(true)
  const companyId = await createCompany(db)
  await updateCompany(db, companyId, { registrationLimit: 10_000 })
  const other = await createCompany(db, 'Other')
  afterAll(async () => {
    await app.close()
    await local.close()
  })
  const call = async (method: Method, path: string, body?: object, company = companyId, on = app) => {
    const answer = await callAs(on, company, method, path, body)
    return { status: answer.statusCode, body: answer.json() }
  }
  const create = (changes: object = {}, company = companyId, on = app) =>
    call('POST', PATH, { ...valid, ...changes }, company, on)
  const storedHeaders = async (id: number): Promise<object[]> => {
    const [row] = await db<{ staticHeaders: string }[]>`
    select static_headers from registrations where company_id = ${companyId} and id = ${id}`
    return JSON.parse(testCipher.decrypt(row!.staticHeaders))
  }
  const untilOneWaits = () =>
    expect
      .poll(async () => {
        const [row] = await db<[{ waiting: number }]>`
        select count(*) as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
        return row.waiting
      })
      .toBe(1)
  return { db, local, companyId, other, call, create, storedHeaders, untilOneWaits }
}
