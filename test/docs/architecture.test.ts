import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

/**
 * The rules of docs/architecture.md that the linter cannot check. biome.json has the others: the ranks of features, circles, the
 * environment, lengths, and by scripts/lint/src.grit the driver, Fastify, routes and the clock.
 */
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const files = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) => !file.includes('.test.'))

describe('src', () => {
  test('has something to look at', () => expect(files.length).toBeGreaterThan(50))

  test('no provider is named outside its folder and the wiring', () => {
    const mayName = /^src\/(providers\/(meta|dialog360|gupshup)\/|providers\/provider-names?\.ts|wiring\/)/
    const naming = files.filter(
      (file) =>
        !mayName.test(file) &&
        (/gupshup|360dialog|dialog360/i.test(readFileSync(join(ROOT, file), 'utf8')) ||
          /['"]meta['"]/.test(readFileSync(join(ROOT, file), 'utf8'))),
    )
    expect(naming).toEqual([])
  })

  test('every folder of src has its place in docs/architecture.md and its import rule in biome.json', () => {
    const rooms = [...new Set(files.flatMap((file) => /^src\/([^/]+)\//.exec(file)?.[1] ?? []))]
    const rules = readFileSync(join(ROOT, 'biome.json'), 'utf8')
    expect(rooms.filter((room) => !new RegExp(`"src/[^"]*\\b${room}\\b`).test(rules))).toEqual([])
    const tree = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')
    expect(rooms.filter((room) => !tree.includes(`\n  ${room}/ `))).toEqual([])
  })
})

test('no file says by its name that it says nothing', () => {
  const names = /(^|\/)(utils?|helpers?|common|types|service|repository|controller|dto|index)\.ts$/
  const all = globSync('{src,sandbox,bench,console}/**/*.ts', {
    cwd: ROOT,
    exclude: ['console/dist', '**/node_modules'],
  })
  expect(all.filter((file) => names.test(file))).toEqual([])
})

test('each exported name means one thing', () => {
  const declared = files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    const names = [...text.matchAll(/^export (?:async )?(?:function\*?|const|type|class) (\w+)/gm)].map(
      ([, name]) => name,
    )
    return [...new Set(names)].map((name) => ({ name, file }))
  })
  const shared = [...Map.groupBy(declared, ({ name }) => name)].filter(([, uses]) => uses.length > 1)
  expect(shared.map(([name, uses]) => `${name}: ${uses.map(({ file }) => file).join(', ')}`)).toEqual([])
})

/** The stops of the journeys in docs/architecture.md: the files of each, and the functions that they name. */
function readStops(): { files: string[]; functions: string[] }[] {
  const text = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')
  const journeys = text.slice(text.indexOf('## Journeys'), text.indexOf('### Across all'))
  const rows = journeys.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| Stop'))
  return rows.map((row) => {
    const [, , paths = '', names = ''] = row.split('|')
    const [first = '', ...others] = [...paths.matchAll(/`([^`<]+)`/g)].map(([, path = '']) => `src/${path}`)
    const beside = others.map((path) => (/^src\/[^/]+$/.test(path) ? join(dirname(first), path.slice(4)) : path))
    return {
      files: first === '' ? [] : [first, ...beside],
      functions: [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
    }
  })
}

test('each stop of the journeys in docs/architecture.md names files and functions that exist', () => {
  const stops = readStops()
  expect(stops.length).toBeGreaterThan(15)
  const missing = stops.flatMap(({ files: named, functions }) => {
    const text = named
      .map((file) => (existsSync(join(ROOT, file)) ? readFileSync(join(ROOT, file), 'utf8') : ''))
      .join('\n')
    const isDefined = (name: string) =>
      new RegExp(`\\b(function\\*?|const) ${name}\\b|^ +(async )?${name}\\(`, 'm').test(text)
    return [
      ...named.filter((file) => !existsSync(join(ROOT, file))),
      ...(named.length === 0 ? [] : functions.filter((name) => !isDefined(name))),
    ]
  })
  expect(missing).toEqual([])
})
