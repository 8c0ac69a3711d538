import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { readSqlObjects } from '../../src/db/migration/sql-object.ts'

const SOURCES = fileURLToPath(new URL('../../src/', import.meta.url))
const objects = await readSqlObjects(SOURCES)
/**
 * The settings that a function may have: the planner settings of docs/decisions/0011-planner-settings.md, and guards.
 */
const SETTINGS = ['plan_cache_mode', 'enable_hashjoin', 'enable_mergejoin', 'search_path', 'lock_timeout']

test('no function has more than 80 lines', () => {
  const long = objects.filter(({ text }) => text.trimEnd().split('\n').length > 80)
  expect(long.map(({ file }) => file)).toEqual([])
})

test('every function says in a comment what it does', () => {
  expect(objects.filter(({ text }) => !text.startsWith('-- ')).map(({ file }) => file)).toEqual([])
})

test('no function sets what the connection sets for all statements', () => {
  const set = objects.flatMap(({ file, text }) =>
    [...text.matchAll(/^set (?:local )?(\w+) = /gm)]
      .filter(([, name]) => !SETTINGS.includes(name ?? ''))
      .map(([line]) => `${file}: ${line}`),
  )
  expect(set).toEqual([])
})

test('every function that only other functions call has a test that names it', () => {
  const tests = textOf('**/*.test.ts')
  const code = textOf('**/!(*.test).ts')
  const isNamed = (text: string, name: string) => new RegExp(`\\b${name}\\b`).test(text)
  const steps = objects.filter(({ text }) => /^create function/m.test(text)).map(({ name }) => name)
  expect(steps.length).toBeGreaterThan(20)
  expect(steps.filter((name) => !isNamed(code, name) && !isNamed(tests, name))).toEqual([])
})

test('no function finds rows by their place on disk', () => {
  expect(objects.filter(({ text }) => /\bctid\b/.test(text)).map(({ file }) => file)).toEqual([])
})

test('schema.sql can be read in one sitting: it is smaller than 60 kB', () => {
  expect(statSync(new URL('../../schema.sql', import.meta.url)).size).toBeLessThan(60_000)
})

/** All sources of the service that match. */
const textOf = (pattern: string): string =>
  globSync(pattern, { cwd: SOURCES })
    .map((file) => readFileSync(join(SOURCES, file), 'utf8'))
    .join('\n')
