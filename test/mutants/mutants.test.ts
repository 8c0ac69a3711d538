import { join } from 'node:path'
import { expect, test } from 'vitest'
import { companyMutants } from './company-mutants.ts'
import { GUARDS } from './guards.ts'
import { mutate } from './mutant.ts'

const ROOT = join(import.meta.dirname, '../..')

test.each(GUARDS.map((guard) => [guard.title, guard] as const))('%s: the fault fits the code', (_title, guard) => {
  expect(mutate(ROOT, guard)).toContain(guard.replace)
})

test('every comparison of a company becomes a fault', () => {
  const mutants = companyMutants(ROOT)
  expect(mutants.length).toBeGreaterThan(150)
  for (const mutant of mutants) mutate(ROOT, mutant)
})

test('a fault that no longer fits the code is refused', () => {
  const mutant = { title: 'none', file: 'package.json', find: 'no such text', replace: '', tests: [] }
  expect(() => mutate(ROOT, mutant)).toThrow('occurs not exactly once')
})
