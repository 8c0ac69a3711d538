import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** The needs of a test file: only its own process, a database of the run's server, or processes of its own. */
export type Project = 'unit' | 'database' | 'process'

const FOLDERS = ['src', 'sandbox', 'test', 'bench', 'client', 'console', 'deploy', 'examples']

/** Starts programs: the service, a database server, a browser, a package, or a short run of attacks, faults or models. */
const STARTS_PROCESSES =
  /from '(?:node:child_process|playwright-core|.*\/(?:parley-process|run-migrate|browser|console-world|killed-sender|statement-log|run|run-all|project|upgrade)\.ts)'|startEmbedded\(/

/** Helpers that need no database. */
const WITHOUT_DATABASE = ['test/run/property-runs.ts', 'test/people/memory-people.ts']

/**
 * Sorts every test file into the project whose name says what it needs, by what it imports, so that no list has to be
 * kept: a file outside of `test/` that imports nothing from there and starts no process is a unit test.
 */
export function testFiles(root: string): Record<Project, string[]> {
  const files = FOLDERS.flatMap((folder) => globSync(`${folder}/**/*.test.ts`, { cwd: root }))
    .filter((file) => !file.includes('node_modules'))
    .toSorted()
  const sorted = Map.groupBy(files, (file) => projectOf(file, readFileSync(join(root, file), 'utf8')))
  return {
    unit: sorted.get('unit') ?? [],
    database: sorted.get('database') ?? [],
    process: sorted.get('process') ?? [],
  }
}

/** The project of a test file with this path and text. */
export function projectOf(file: string, text: string): Project {
  if (STARTS_PROCESSES.test(text)) return 'process'
  return file.startsWith('test/') ||
    importsFrom(file, text).some((path) => path.startsWith('test/') && !WITHOUT_DATABASE.includes(path))
    ? 'database'
    : 'unit'
}

const importsFrom = (file: string, text: string): string[] =>
  [...text.matchAll(/from '(\.[^']+)'/g)].map(([, path = '']) => normalize(join(dirname(file), path)))
