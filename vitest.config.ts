import { defineConfig } from 'vitest/config'
import { testFiles } from './test/projects.ts'

const files = testFiles(import.meta.dirname)
/** One real PostgreSQL for a run of a project; each file clones its own database from a template. */
const globalSetup = ['test/global-setup.ts']

/**
 * Three projects, one after the other (test/projects.ts says which file is in which). Unit tests share one process, since
 * nothing in them keeps state; a file of the others has its own, whose end closes what it left open.
 */
export default defineConfig({
  test: {
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 60_000,
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
        test: { name: 'database', include: files.database, globalSetup, maxWorkers: 3, ...order(1) },
      },
      { extends: true, test: { name: 'process', include: files.process, globalSetup, maxWorkers: 3, ...order(2) } },
    ],
  },
})

function order(groupOrder: number) {
  return { sequence: { groupOrder } }
}
