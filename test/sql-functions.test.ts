import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { readSqlObjects } from '../src/db/sql-object.ts'

const objects = await readSqlObjects(fileURLToPath(new URL('../src/', import.meta.url)))
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

test('no function finds rows by their place on disk', () => {
  expect(objects.filter(({ text }) => /\bctid\b/.test(text)).map(({ file }) => file)).toEqual([])
})

test('schema.sql can be read in one sitting: it is smaller than 60 kB', () => {
  expect(statSync(new URL('../schema.sql', import.meta.url)).size).toBeLessThan(60_000)
})
