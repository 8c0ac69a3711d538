import { afterAll, expect, test } from 'vitest'
import { ADMIN_TOKEN, createTestApi } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { operatorDeps } from '../../../test/operator-deps.ts'
import { createCompany } from '../../companies/company.ts'
import { enqueueJobs } from '../../queue/job-store.ts'
import { jobRoutes } from './job-routes.ts'

const { db } = await createTestDatabase()
const deps = operatorDeps(db)
const { app } = await createTestApi({ db, routes: async (server) => void (await server.register(jobRoutes(deps))) })
afterAll(() => app.close())

async function call(method: 'GET' | 'POST', url: string, token = ADMIN_TOKEN) {
  const answer = await app.inject({ method, url, headers: { authorization: `Bearer ${token}` } })
  return { status: answer.statusCode, body: answer.json() }
}

test('work that was given up is listed with its reason, and begins afresh on demand', async () => {
  await enqueueJobs(db, [
    { kind: 'work', lane: 'a', companyId: 7, subjectId: 11 },
    { kind: 'work', lane: 'a', companyId: 7, subjectId: 12 },
  ])
  await db`update jobs set failed_at = now(), attempts = 10, last_error = 'It broke' where subject_id = 11`

  const { status, body: listed } = await call('GET', '/admin/v1/failed-jobs')
  expect(status).toBe(200)
  expect(listed).toEqual([
    {
      id: expect.any(Number),
      kind: 'work',
      companyId: 7,
      subjectId: 11,
      attempts: 10,
      failedAt: expect.stringMatching(/Z$/),
      lastError: 'It broke',
    },
  ])

  const retry = `/admin/v1/failed-jobs/${listed[0].id}/retry`
  expect(await call('POST', retry)).toEqual({ status: 200, body: { success: true } })
  expect((await call('GET', '/admin/v1/failed-jobs')).body).toEqual([])
  const [job] = await db`select failed_at, attempts from jobs where subject_id = 11`
  expect(job).toEqual({ failedAt: null, attempts: 0 })
  // It waits for a worker now: there is nothing left to try again.
  expect((await call('POST', retry)).status).toBe(404)
})

const insertFailedDelivery = (companyId: number | undefined, id: number) => db`
  insert into deliveries (company_id, id, registration_id, event, event_id, failed_at)
  values (${companyId ?? 0}, ${id}, 1, 'whatsapp.message.received', 'wamid.1', now())
`

test('a delivery whose id is known in several companies is retried for the company that is named', async () => {
  const id = Math.floor(Date.now() / 86_400_000) * 1_000_000_000 + 1
  const companies = await Promise.all(['One', 'Two'].map((name) => createCompany(db, { name })))
  const [one, two] = companies.map((company) => company.id).toSorted((a, b) => a - b)
  for (const companyId of [one, two]) await insertFailedDelivery(companyId, id)
  const retry = `/admin/v1/failed-jobs/${id}/retry`
  const refused = await call('POST', retry)
  expect(refused.status).toBe(422)
  expect(refused.body.error.details.fields).toEqual([
    { path: 'companyId', message: expect.stringContaining(`the companies ${one}, ${two} have a failed job`) },
  ])
  expect((await call('POST', `${retry}?companyId=${two}`)).status).toBe(200)
  expect(await db`select company_id from deliveries where id = ${id} and failed_at is not null`).toEqual([
    { companyId: one },
  ])
  // Now the id is unique among failed jobs.
  expect((await call('POST', `${retry}?companyId=${two}`)).status).toBe(404)
  expect((await call('POST', retry)).status).toBe(200)
  expect((await call('POST', `${retry}?companyId=999999`)).status).toBe(404)
})

test.each(['0', '999999', 'x', '99999999999999999999'])('404 for a job that is not there: %s', async (id) => {
  expect(await call('POST', `/admin/v1/failed-jobs/${id}/retry`)).toEqual({
    status: 404,
    body: { message: 'Job not found' },
  })
})

test('401 without the operator’s token', async () => {
  expect((await call('GET', '/admin/v1/failed-jobs', 'x'.repeat(40))).status).toBe(401)
})
