import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestApi } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { createCaller, createCompany, register, testCipher } from '../../../test/webhook-fixture.ts'
import { updateCompany } from '../../companies/company.ts'
import { registrationRoutes } from './registration-routes.ts'

const { db } = await createTestDatabase({ mirrors: true })
const callAs = createCaller(db)
const PATH = '/public/v1/webhooks/registrations'
const valid = { name: 'CRM', url: 'https://hooks.example.com/in', events: ['whatsapp.message.received'] }

let app: FastifyInstance
beforeAll(async () => {
  const rules = { allowPrivate: false, serviceName: 'Acme' }
  const deps = { db, cipher: testCipher, rules, onChanged: async () => {} }
  app = (await createTestApi({ db, routes: (on) => void on.register(registrationRoutes(deps)) })).app
})
afterAll(() => app.close())

const create = (companyId: number) => callAs(app, companyId, 'POST', PATH, valid)
const fill = async (companyId: number, count: number) => {
  for (let n = 0; n < count; n += 1) await register(db, companyId)
}

it('refuses the 51st registration of a company, and not one of another', async () => {
  const [companyId, other] = [await createCompany(db), await createCompany(db, 'Other')]
  await fill(companyId, 49)
  const fiftieth = await create(companyId)
  expect(fiftieth.statusCode).toBe(201)
  const refused = await create(companyId)
  expect(refused.statusCode).toBe(422)
  expect(refused.json().error).toMatchObject({
    code: 'validation_error',
    details: { fields: [{ path: 'body', message: 'cannot be kept: the company has at most 50 registrations' }] },
  })
  expect((await create(other)).statusCode).toBe(201)
  await callAs(app, companyId, 'DELETE', `${PATH}/${fiftieth.json().id}`)
  expect((await create(companyId)).statusCode).toBe(201)
})

it('counts inactive registrations', async () => {
  const companyId = await createCompany(db)
  await updateCompany(db, companyId, { registrationLimit: 1 })
  const { id } = (await create(companyId)).json()
  await callAs(app, companyId, 'PUT', `${PATH}/${id}`, { status: 'inactive' })
  expect((await create(companyId)).statusCode).toBe(422)
})

it('follows the limit that the operator sets', async () => {
  const companyId = await createCompany(db)
  await fill(companyId, 50)
  await updateCompany(db, companyId, { registrationLimit: 51 })
  expect((await create(companyId)).statusCode).toBe(201)
  expect((await create(companyId)).statusCode).toBe(422)
})

it('keeps the registrations of a company that has more, and changes them', async () => {
  const companyId = await createCompany(db)
  await fill(companyId, 52)
  expect((await create(companyId)).statusCode).toBe(422)
  const listed = (await callAs(app, companyId, 'GET', PATH)).json()
  expect(listed).toHaveLength(52)
  const changed = await callAs(app, companyId, 'PUT', `${PATH}/${listed[51].id}`, { name: 'Renamed' })
  expect(changed.statusCode).toBe(200)
})

it('admits one of the requests that arrive together for the last place', async () => {
  const companyId = await createCompany(db)
  await updateCompany(db, companyId, { registrationLimit: 1 })
  const answers = await Promise.all(Array.from({ length: 8 }, () => create(companyId)))
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([201, ...Array(7).fill(422)])
})
