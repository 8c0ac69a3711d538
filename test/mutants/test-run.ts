import { join } from 'node:path'
import { createVitest, type TestModule, type Vitest } from 'vitest/node'
import { connect } from '../../src/db/connect.ts'
import { migrate } from '../../src/db/migration/migrate.ts'

/** A mutant that makes a test file hang is noticed, too. */
const TIMEOUT_MS = 120_000

/** The first failure of a run; undefined: all tests passed. */
export type Failure = string | undefined

/**
 * Runs test files of a copy of the repository, one after the other, in one process of vitest with one database server:
 * starting both again for each mutant would take longer than most tests do.
 */
export async function openTestRun(root: string) {
  const vitest = await createVitest({ root, watch: false, bail: 1, maxWorkers: 1, reporters: [{}], retry: 0 })
  const specifications = await vitest.globTestSpecifications()
  return { run, changed, close: () => vitest.close() }

  async function run(file: string): Promise<Failure> {
    const chosen = specifications.filter(({ moduleId }) => moduleId === join(root, file))
    if (chosen.length === 0) throw new Error(`${file} is no test file`)
    const timer = setTimeout(() => vitest.cancelCurrentRun('test-failure'), TIMEOUT_MS)
    const start = performance.now()
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(chosen)
    clearTimeout(timer)
    if (performance.now() - start >= TIMEOUT_MS) return `${file}: hangs`
    // The result has modules of earlier runs, too.
    const module = testModules.find(({ moduleId }) => moduleId === join(root, file))
    // A file whose tests are all skipped on this machine notices nothing.
    if (module?.state() === 'skipped') return undefined
    if (module === undefined || !['passed', 'failed'].includes(module.state())) return `${file}: does not run`
    return failureOf(module) ?? (unhandledErrors.length > 0 ? `${file}: ${firstLine(unhandledErrors[0])}` : undefined)
  }

  /** After a file of the copy has changed. Returns what the database has against its functions. */
  async function changed(file: string): Promise<Failure> {
    vitest.invalidateFile(join(root, file))
    if (!file.endsWith('.sql')) return undefined
    try {
      for (const url of databasesOf(vitest)) await replaceFunctions(url, root)
      return undefined
    } catch (error) {
      return `migrate: ${firstLine(error)}`
    }
  }
}

function failureOf(module: TestModule): Failure {
  if (module.ok()) return undefined
  for (const test of module.children.allTests('failed')) {
    return `${module.relativeModuleId} > ${test.fullName}: ${firstLine(test.result().errors?.[0])}`
  }
  return `${module.relativeModuleId}: ${firstLine(module.errors()[0])}`
}

/** The templates of the databases of the tests. A project that has not run any test has none yet. */
function databasesOf(vitest: Vitest): string[] {
  const contexts = vitest.projects.map((project) => project.getProvidedContext())
  return contexts
    .filter(({ databaseUrl }) => databaseUrl !== undefined)
    .flatMap(({ databaseUrl, template }) => [databaseUrl, databaseUrl.replace('/parley?', `/${template}?`)])
}

async function replaceFunctions(url: string, root: string): Promise<void> {
  const db = connect(url)
  try {
    await migrate(db, { source: { migrations: join(root, 'migrations/'), objects: join(root, 'src/') } })
  } finally {
    await db.end()
  }
}

function firstLine(error: unknown): string {
  const message =
    typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error)
  return message.split('\n')[0]?.slice(0, 200) ?? ''
}
