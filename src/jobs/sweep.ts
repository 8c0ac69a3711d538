export type Sweep = { stop(): Promise<void> }

/**
 * Runs work now and every `everyMs`, one run at a time: what falls due during a run is left out. A failure is logged, and the
 * next run tries again. `stop` waits for the run in progress.
 */
export function startSweep(
  log: { error(fields: object, message: string): void },
  everyMs: number,
  work: () => Promise<unknown>,
): Sweep {
  let running: Promise<unknown> | undefined
  const run = () => {
    running ??= Promise.resolve()
      .then(work)
      .catch((error) => log.error({ reason: String(error) }, 'sweep.failed'))
      .finally(() => {
        running = undefined
      })
  }
  run()
  const timer = setInterval(run, everyMs)
  return {
    stop: async () => {
      clearInterval(timer)
      await running
    },
  }
}
