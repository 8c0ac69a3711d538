import { execFileSync } from 'node:child_process'
import { cpSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { VERSION } from '../../src/platform/version.ts'
import { createTestFolder } from '../temporary-folder.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const versionOf = (path: string): string => JSON.parse(read(path)).version
const current = versionOf('package.json')

const changelog = read('CHANGELOG.md')
/** The released versions, the newest first. */
const released = [...changelog.matchAll(/^## (\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)$/gm)].map(
  ([, version = '']) => version,
)

/** The tags of the repository; undefined without git or with a history that is cut off. */
function tagsOfGit(): string[] | undefined {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' }).trim()
  try {
    if (git('rev-parse', '--is-shallow-repository') === 'true') return undefined
    return git('tag', '--list', 'v*', '--merged', 'HEAD').split('\n').filter(Boolean)
  } catch {
    return undefined
  }
}

const order = (one: string, other: string): number => one.localeCompare(other, 'en', { numeric: true })

test('the sections of the changelog go down to the first version, each once', () => {
  expect(changelog.match(/^## .*$/gm)?.[0]).toBe('## Unreleased')
  expect(released.toSorted(order).toReversed()).toEqual(released)
  expect(new Set(released).size).toBe(released.length)
  expect(changelog.match(/^## /gm)).toHaveLength(released.length + 1)
})

test('package.json has the version that the unreleased changes become, or that was just released', () => {
  const [next] = /(?<=^Becomes )\d+\.\d+\.\d+/m.exec(changelog.slice(0, changelog.indexOf('\n## 0.'))) ?? []
  expect(current).toBe(next ?? released[0])
  if (next !== undefined) expect(order(next, released[0] ?? '')).toBeGreaterThan(0)
})

test('every tag has a section, and every section since the first tag has a tag', (context) => {
  const tags = tagsOfGit()
  if (tags === undefined || tags.length === 0) return context.skip('this copy has no tags')
  const tagged = tags.map((tag) => tag.slice(1)).toSorted(order)
  expect(tagged).toEqual(released.filter((version) => order(version, tagged[0] ?? '') >= 0).toSorted(order))
})

test('the client, images and jobs have the version of package.json', () => {
  expect([versionOf('client/package.json'), versionOf('package-lock.json')]).toEqual([current, current])
  const files = [
    'compose.yaml',
    'Dockerfile',
    'docs/deploy.md',
    ...globSync('deploy/kubernetes/**/*.yaml', { cwd: ROOT }),
  ]
  const named = files.flatMap((path) => [...read(path).matchAll(/(?<=parley:|parley-migrate-)\d+[.-]\d+[.-]\d+/g)])
  expect(named.length).toBeGreaterThan(5)
  expect(new Set(named.map(([version]) => version.replaceAll('-', '.')))).toEqual(new Set([current]))
})

/** What scripts/build/build-id.mjs of a folder answers. */
function buildIdIn(folder: string, env: Record<string, string> = {}): string {
  const program = `import { buildId } from '${join(folder, 'scripts/build/build-id.mjs')}'; process.stdout.write(buildId())`
  const args = ['--input-type=module', '--eval', program]
  return execFileSync(process.execPath, args, { encoding: 'utf8', env: { PATH: process.env.PATH, ...env } })
}

test('the version of a build ends with its commit, without git with a digest of its sources', async () => {
  expect(VERSION).toMatch(new RegExp(`^${current.replaceAll('.', '\\.')}\\+([0-9a-f]{8}|sources)$`))
  expect(buildIdIn(ROOT)).toMatch(/^([0-9a-f]{8}|src\.[0-9a-f]{8}|[0-9a-f]{8}\.src\.[0-9a-f]{8})$/)
  const copy = await createTestFolder()
  for (const name of ['scripts', 'package.json']) cpSync(join(ROOT, name), join(copy, name), { recursive: true })
  expect(buildIdIn(copy)).toMatch(/^src\.[0-9a-f]{8}$/)
  expect(buildIdIn(copy, { PARLEY_COMMIT: '0123456789abcdef' })).toBe('01234567')
})
