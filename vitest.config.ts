import { defineConfig } from 'vitest/config'

/** One real PostgreSQL for the whole run (test/global-setup.ts); each file clones its own database from a template. */
export default defineConfig({
  test: {
    include: [
      'src/**/*.test.ts',
      'sandbox/**/*.test.ts',
      'test/**/*.test.ts',
      'bench/**/*.test.ts',
      'packages/*/*.test.ts',
      'client/test/**/*.test.ts',
    ],
    globalSetup: ['test/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
