import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { type Project, testFiles } from './test/run/projects.ts'
import { isSlow } from './test/run/slow-files.ts'

const files = testFiles(import.meta.dirname)
// Processes of the tests share what the first of them compiled: compiling the service again takes 0.75 s of processor time.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/parley')
const onDatabase = {
  /** One real PostgreSQL for a run of a project; each file clones its own database from a template. */
  globalSetup: ['test/run/global-setup.ts'],
  /** More than a machine has cores: tests of processes wait for much of their time. */
  maxWorkers: 6,
  ...order(1),
}

/**
 * Three projects by what a file needs (test/run/projects.ts), the unit tests first, and `slow` (test/run/slow-files.ts), which
 * `npm test` leaves out. The files of a worker share its process and its modules: with a process for each file, the project
 * `database` took 450 s of processor time instead of 332 s. So a file closes what it opens (test/file-end.ts), and restores what
 * it changes in the process.
 */
export default defineConfig({
  test: {
    /** Closes what the helpers of a test file opened. */
    setupFiles: ['test/run/setup-file.ts'],
    pool: 'forks',
    isolate: false,
    // Node loads the files as the service does.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Deadlines end a run that hangs. A busy machine takes many times as long as an idle one.
    testTimeout: 180_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 90_000 } },
    coverage: {
      include: ['src/**/*.ts'],
      exclude: ['**/*.test.ts'],
      reporter: ['text-summary', 'html'],
      reportsDirectory: 'coverage',
    },
    projects: [
      { extends: true, test: { name: 'unit', include: quick('unit'), maxWorkers: 2, ...order(0) } },
      { extends: true, test: { name: 'database', include: quick('database'), ...onDatabase } },
      { extends: true, test: { name: 'process', include: quick('process'), ...onDatabase } },
      { extends: true, test: { name: 'slow', include: Object.values(files).flat().filter(isSlow), ...onDatabase } },
    ],
  },
})

/** The files of a project that `npm test` runs. */
function quick(project: Project): string[] {
  return files[project].filter((file) => !isSlow(file))
}

function order(groupOrder: number) {
  return { sequence: { groupOrder } }
}
