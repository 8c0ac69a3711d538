import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { readSqlObjects } from '../src/db/sql-object.ts'

/** Rooms whose functions are being replaced together with their tables. */
const LATER = /^(webhooks|jobs)\//
const objects = (await readSqlObjects(fileURLToPath(new URL('../src/', import.meta.url)))).filter(
  ({ file }) => !LATER.test(file),
)

test('no function has more than 80 lines', () => {
  const long = objects.filter(({ text }) => text.trimEnd().split('\n').length > 80)
  expect(long.map(({ file }) => file)).toEqual([])
})

test('every function says in a comment what it does', () => {
  expect(objects.filter(({ text }) => !text.startsWith('-- ')).map(({ file }) => file)).toEqual([])
})

test('no function sets what the connection sets for all statements', () => {
  const set = objects.filter(({ text }) => /^\s*set (local )?(enable_seqscan|jit)\b/m.test(text))
  expect(set.map(({ file }) => file)).toEqual([])
})

test('no function finds rows by their place on disk', () => {
  expect(objects.filter(({ text }) => /\bctid\b/.test(text)).map(({ file }) => file)).toEqual([])
})
