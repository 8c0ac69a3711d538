import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

/**
 * The direction of imports (docs/architecture.md): main → app → routes and job handlers → feature verbs → stores and
 * ports → db and ground. Change the architecture there before these tests.
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const files = globSync('{src,sandbox,bench,console}/**/*.{ts,tsx}', { cwd: ROOT, exclude: ['console/dist'] }).filter(
  (file) => !file.includes('.test.'),
)

type Import = { file: string; target: string }
const imports: Import[] = files.flatMap((file) => {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return [...text.matchAll(/^(?:import|export)\s[^'"]*?from\s+['"]([^'"]+)['"]|import\(['"]([^'"]+)['"]\)/gm)].map(
    (match) => {
      const target = match[1] ?? match[2] ?? ''
      return { file, target: target.startsWith('.') ? normalize(join(dirname(file), target)) : target }
    },
  )
})
const offenders = (isWrong: (one: Import) => boolean): string[] =>
  imports.filter(isWrong).map(({ file, target }) => `${file} imports ${target}`)

const roomOf = (file: string): string => /^src\/([^/]+)\//.exec(file)?.[1] ?? 'ground'
const FEATURES = [
  'accounts',
  'companies',
  'console',
  'senders',
  'templates',
  'custom-fields',
  'customers',
  'contacts',
  'conversations',
  'messages',
  'inbound',
  'webhooks',
  'media',
  'live',
  'emails',
  'moves',
  'legacy',
  'operator',
  'personal-data',
]
const UPPER = ['legacy', 'operator', 'personal-data', 'inbound', 'messages', 'moves']
/** Where the rooms are joined: these may import every room. */
const isWiring = (file: string): boolean => /^src\/((main|app)\.ts$|(process|wiring)\/)/.test(file)
/** Rooms that any other may import. */
const GROUND = ['ground', 'db', 'text', 'batching', 'secrets']

describe('imports go down only', () => {
  test('there is something to look at', () => expect(imports.length).toBeGreaterThan(50))

  test('adapters are known to main alone', () => {
    const isAdapter = (target: string) =>
      /^src\/(providers\/(meta|dialog360|gupshup)|mailers\/(smtp|postmark)\/)/.test(target)
    expect(offenders(({ file, target }) => isAdapter(target) && !isAdapter(file) && !isWiring(file))).toEqual([])
  })

  test('the database driver only in db', () => {
    const isDriver = (target: string) => /^(pg|pg-.*|postgres-array)$|^src\/db\/driver\//.test(target)
    expect(offenders(({ file, target }) => isDriver(target) && !file.startsWith('src/db/'))).toEqual([])
  })

  test('fastify only in http, routes and app', () => {
    expect(
      offenders(
        ({ file, target }) =>
          /^fastify$|^@fastify\//.test(target) &&
          file.startsWith('src/') &&
          !/^src\/http\/|-routes\.ts$|^src\/app\.ts$/.test(file),
      ),
    ).toEqual([])
  })

  test('only app and its wiring import routes', () => {
    expect(
      offenders(
        ({ file, target }) => /^src\/.*-routes\.ts$/.test(target) && !isWiring(file) && !/-routes\.ts$/.test(file),
      ),
    ).toEqual([])
  })

  test('the environment is read in main alone', () => {
    const readers = files.filter(
      (file) =>
        file.startsWith('src/') &&
        file !== 'src/main.ts' &&
        /process\.env/.test(readFileSync(join(ROOT, file), 'utf8')),
    )
    expect(readers).toEqual([])
  })

  test('the hour comes from the clock alone', () => {
    const tellers = files.filter(
      (file) =>
        file.startsWith('src/') &&
        file !== 'src/clock.ts' &&
        /Date\.now\(\)|new Date\(\)/.test(readFileSync(join(ROOT, file), 'utf8')),
    )
    expect(tellers).toEqual([])
  })

  test('no provider is named outside its folder and the wiring', () => {
    const mayName = /^src\/(providers\/(meta|dialog360|gupshup)\/|providers\/provider-name\.ts|wiring\/)/
    const naming = files.filter(
      (file) =>
        file.startsWith('src/') &&
        !mayName.test(file) &&
        (/gupshup|360dialog|dialog360/i.test(readFileSync(join(ROOT, file), 'utf8')) ||
          /['"]meta['"]/.test(readFileSync(join(ROOT, file), 'utf8'))),
    )
    expect(naming).toEqual([])
  })

  test('the ground floor imports no feature, http nor jobs', () => {
    expect(
      offenders(
        ({ file, target }) =>
          file.startsWith('src/') &&
          GROUND.includes(roomOf(file)) &&
          !isWiring(file) &&
          target.startsWith('src/') &&
          !GROUND.includes(roomOf(target)),
      ),
    ).toEqual([])
  })

  test('between features: legacy, operator, personal-data > inbound, messages, moves > webhooks > contacts > the rest', () => {
    const rank = (room: string): number =>
      ['legacy', 'operator', 'console', 'personal-data'].includes(room)
        ? 4
        : ['inbound', 'messages', 'moves'].includes(room)
          ? 3
          : room === 'webhooks'
            ? 2
            : room === 'contacts'
              ? 1
              : 0
    const isFeature = (room: string) => FEATURES.includes(room)
    expect(
      offenders(({ file, target }) => {
        const [from, to] = [roomOf(file), roomOf(target)]
        return isFeature(from) && isFeature(to) && from !== to && rank(from) <= rank(to)
      }),
    ).toEqual([])
    expect(UPPER.every((room) => rank(room) >= 3)).toBe(true)
  })

  test('every folder of src has its place in this picture and in docs/architecture.md', () => {
    const rooms = [...new Set(files.map(roomOf))].filter((room) => room !== 'ground')
    const known = [...FEATURES, ...GROUND, 'http', 'jobs', 'mailers', 'process', 'providers', 'wiring']
    expect(rooms.filter((room) => !known.includes(room))).toEqual([])
    const tree = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')
    expect(rooms.filter((room) => !tree.includes(`\n  ${room}/ `))).toEqual([])
  })

  test('http imports no feature', () => {
    expect(offenders(({ file, target }) => roomOf(file) === 'http' && FEATURES.includes(roomOf(target)))).toEqual([])
  })

  test('only main imports process', () => {
    expect(
      offenders(
        ({ file, target }) =>
          roomOf(target) === 'process' &&
          target.startsWith('src/') &&
          roomOf(file) !== 'process' &&
          file !== 'src/main.ts',
      ),
    ).toEqual([])
  })

  test('no file imports itself through others, types included', () => {
    // The console's routes import its screens, and screens the types of the routes.
    const targets = Map.groupBy(
      imports.filter(({ file }) => !file.startsWith('console/')),
      ({ file }) => file,
    )
    const done = new Set<string>()
    const cycleFrom = (file: string, path: readonly string[]): readonly string[] | undefined => {
      if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
      if (done.has(file)) return undefined
      for (const { target } of targets.get(file) ?? []) {
        const cycle = cycleFrom(target, [...path, file])
        if (cycle !== undefined) return cycle
      }
      done.add(file)
      return undefined
    }
    expect(files.map((file) => cycleFrom(file, [])?.join(' → ')).filter((cycle) => cycle !== undefined)).toEqual([])
  })

  test('src and sandbox know nothing of each other', () => {
    expect(offenders(({ file, target }) => file.startsWith('src/') && target.startsWith('sandbox/'))).toEqual([])
    expect(offenders(({ file, target }) => file.startsWith('sandbox/') && target.startsWith('src/'))).toEqual([])
  })
})

describe('the console is apart from the service', () => {
  test('console/ imports nothing outside itself but packages and the client', () => {
    expect(
      offenders(
        ({ file, target }) =>
          file.startsWith('console/') &&
          /^(\.\.|\/|src|sandbox|test|scripts|client)/.test(target) &&
          !/^(console|client\/src)\//.test(target),
      ),
    ).toEqual([])
  })

  test('src and sandbox import nothing of console/', () => {
    expect(offenders(({ file, target }) => /^(src|sandbox)\//.test(file) && target.startsWith('console/'))).toEqual([])
  })
})

test('no file says by its name that it says nothing', () => {
  const names = /(^|\/)(utils?|helpers?|common|types|service|repository|controller|dto|index)\.ts$/
  expect(files.filter((file) => names.test(file))).toEqual([])
})

test('each exported name and each file name means one thing', () => {
  const declared = files
    .filter((file) => file.startsWith('src/'))
    .flatMap((file) => {
      const text = readFileSync(join(ROOT, file), 'utf8')
      const names = [...text.matchAll(/^export (?:async )?(?:function\*?|const|type|class) (\w+)/gm)].map(
        ([, name]) => name,
      )
      return [...new Set(names), basename(file)].map((name) => ({ name, file }))
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
