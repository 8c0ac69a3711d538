/** They close what the test file has opened, and have not run yet. */
const cleanups: (() => unknown)[] = []

/**
 * Runs `cleanup` when the test file ends, the last one first. To be called anywhere: vitest does not run an `afterAll` that
 * is registered while a `beforeAll` or a test runs.
 */
export function atFileEnd(cleanup: () => unknown): void {
  cleanups.push(cleanup)
}

/** Runs every cleanup of the file, also after one that fails; throws the first failure. */
export async function endFile(): Promise<void> {
  const failures: unknown[] = []
  for (const cleanup of cleanups.splice(0).toReversed()) {
    try {
      await cleanup()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}
