import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { ADVISORY_LOCKS } from '../../src/db/advisory-locks.ts'

const SOURCE = fileURLToPath(new URL('../../src/', import.meta.url))
/** Arguments that may name a lock without its namespace: a number of the registry, or a key that was made before. */
const KNOWN_KEYS = [
  /^\$\{MIGRATE_LOCK\}\)/,
  /^hashtextextended\(\$\{kind\}, \$\{CLAIM_LOCK_SEED\}\)\)/,
  /^(locks\.)?key\)/,
]

let files: { name: string; text: string }[]
beforeAll(async () => {
  const names = (await readdir(SOURCE, { recursive: true })).filter((name) => /(?<!\.test)\.(ts|sql)$/.test(name))
  files = await Promise.all(names.map(async (name) => ({ name, text: await readFile(SOURCE + name, 'utf8') })))
})

const namespacesOf = (text: string): string[] =>
  [...text.matchAll(/advisory_key\('([^']*)'/g)].map(([, namespace]) => namespace ?? '')

test('every namespace of an advisory lock is in the registry, and the registry holds no other', () => {
  const used = files.flatMap(({ text }) => namespacesOf(text))
  expect([...new Set(used)].sort()).toEqual(Object.keys(ADVISORY_LOCKS).sort())
})

test('no statement takes an advisory lock that the registry does not name', () => {
  const unknown = files.flatMap(({ name, text }) =>
    [...text.matchAll(/pg_(?:try_)?advisory\w*\((.*)/g)]
      .map(([, rest = '']) => rest)
      .filter((rest) => !rest.startsWith("advisory_key('") && !KNOWN_KEYS.some((key) => key.test(rest)))
      .map((rest) => `${name}: ${rest}`),
  )
  expect(unknown).toEqual([])
})

test('a key that is made before its lock is taken is made of a namespace', () => {
  const without = files.filter(
    ({ text }) => /pg_(?:try_)?advisory\w*\((locks\.)?key\)/.test(text) && namespacesOf(text).length === 0,
  )
  expect(without.map(({ name }) => name)).toEqual([])
})
