import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { testFiles } from './test/projects.ts'

const files = testFiles(import.meta.dirname)
// Processes of the tests share what the first of them compiled: compiling the service anew takes 0.75 s of processor time.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/parley')
/** One real PostgreSQL for a run of a project; each file clones its own database from a template. */
const globalSetup = ['test/global-setup.ts']

/** More than a machine has cores: tests of processes wait for much of their time. */
const maxWorkers = 5

/**
 * Three projects (test/projects.ts says which file is in which). Unit tests come first and share one process, since nothing in
 * them keeps state; a file of the others has its own, whose end closes what it left open.
 */
export default defineConfig({
  test: {
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // A poll waits for a state; a second is little on a busy machine.
    expect: { poll: { timeout: 10_000 } },
    coverage: {
      include: ['src/**/*.ts'],
      exclude: ['**/*.test.ts'],
      reporter: ['text-summary', 'html'],
      reportsDirectory: 'coverage',
    },
    projects: [
      { extends: true, test: { name: 'unit', include: files.unit, isolate: false, maxWorkers: 1, ...order(0) } },
      {
        extends: true,
        test: { name: 'database', include: files.database, globalSetup, maxWorkers, ...order(1) },
      },
      {
        extends: true,
        test: { name: 'process', include: files.process, globalSetup, testTimeout: 60_000, maxWorkers, ...order(1) },
      },
    ],
  },
})

function order(groupOrder: number) {
  return { sequence: { groupOrder } }
}
