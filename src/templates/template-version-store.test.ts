import { beforeAll, expect, it } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createCompany, createSender } from '../../test/world.ts'
import type { Pool } from '../db/connect.ts'
import { createTemplateCache } from './template-version-store.ts'

let db: Pool
let companyId: number
const addTemplate = async (name: string) => {
  await db`insert into template_families (company_id, id, waba_account_id, name)
    values (${companyId}, ${`tmpl_${name}`}, 'WABA1', ${name})`
  await db`insert into templates
      (company_id, family_id, language, status, provider_status, category, parameter_format, components)
    values (${companyId}, ${`tmpl_${name}`}, 'en', 'APPROVED', 'APPROVED', 'UTILITY', 'POSITIONAL', '[]')`
}

beforeAll(async () => {
  ;({ db } = await createTestDatabase({ mirrors: true }))
  companyId = await createCompany(db)
  await createSender(db, companyId)
})

it('answers lookups that were under way when it was dropped, and asks again afterwards', async () => {
  const cache = createTemplateCache(db)
  const early = Array.from({ length: 20 }, (_, n) => cache.versionsOf(companyId, 'WABA1', { name: `t${n}` }))
  cache.drop()
  expect(await Promise.all(early)).toEqual(early.map(() => []))
  await addTemplate('t0')
  cache.drop()
  expect(await cache.versionsOf(companyId, 'WABA1', { name: 't0' })).toMatchObject([{ name: 't0', language: 'en' }])
})

it('asks once for callers at the same time', async () => {
  const cache = createTemplateCache(db)
  const [one, two] = [1, 2].map(() => cache.versionsOf(companyId, 'WABA1', { id: 'tmpl_t0' }))
  expect(one).toBe(two)
  expect(await one).toHaveLength(1)
})
