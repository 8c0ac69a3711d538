import { join } from 'node:path'
import { expect, test } from 'vitest'
import { companyMutants, mutantsOf } from './company-mutants.ts'
import { GUARDS } from './guards.ts'
import { mutate } from './mutant.ts'

const ROOT = join(import.meta.dirname, '../..')

test.each(GUARDS.map((guard) => [guard.title, guard] as const))('%s: the fault fits the code', (_title, guard) => {
  expect(mutate(ROOT, guard)).toContain(guard.replace)
})

test('every comparison of a company becomes a fault', () => {
  const mutants = companyMutants(ROOT)
  expect(mutants.length).toBeGreaterThan(350)
  for (const mutant of mutants) mutate(ROOT, mutant)
})

test.each([
  ['where c.company_id = ${companyId} and id = 1', 'where true and id = 1'],
  ['(c.company_id, c.id) = (${companyId}, ${id})', '(c.id) = (${id})'],
  ['(c.company_id, c.id) = ((send.item).company_id, (send.item).id)', '(c.id) = ((send.item).id)'],
  ['(company_id, id) in (select company_id, id from t)', '(id) in (select id from t)'],
])('%s becomes %s', (text, fault) => {
  const faults = mutantsOf('a-store.ts', text).map(({ find, replace }) => text.replace(find, () => replace))
  expect(faults).toEqual([fault])
})

test('a fault that no longer fits the code is refused', () => {
  const mutant = { title: 'none', file: 'package.json', find: 'no such text', replace: '', tests: [] }
  expect(() => mutate(ROOT, mutant)).toThrow('occurs not exactly once')
})
