import type { Counter } from 'prom-client'

export type Sweep = { stop(): Promise<void> }

type SweepDeps = {
  log: { error(fields: object, message: string): void }
  metrics: { sweeps: Pick<Counter<'sweep' | 'outcome'>, 'inc'> }
}

type SweepSchedule = {
  /** In logs and metrics. */
  name: string
  everyMs: number
  /** Until the first run; sweeps that start together do not all run at one moment. */
  afterMs?: number
}

/**
 * Runs work every `everyMs`, one run at a time: what falls due during a run is left out. A failure is logged and counted, and the
 * next run tries again. `stop` waits for the run in progress.
 */
export function startSweep(
  { log, metrics }: SweepDeps,
  { name, everyMs, afterMs = 0 }: SweepSchedule,
  work: () => Promise<unknown>,
): Sweep {
  for (const outcome of ['completed', 'failed']) metrics.sweeps.inc({ sweep: name, outcome }, 0)
  let running: Promise<unknown> | undefined
  const run = () => {
    running ??= Promise.resolve()
      .then(work)
      .then(
        () => metrics.sweeps.inc({ sweep: name, outcome: 'completed' }),
        (error) => {
          metrics.sweeps.inc({ sweep: name, outcome: 'failed' })
          log.error({ sweep: name, reason: String(error) }, 'sweep.failed')
        },
      )
      .finally(() => {
        running = undefined
      })
  }
  let timer: NodeJS.Timeout | undefined
  const start = () => {
    run()
    timer = setInterval(run, everyMs)
  }
  if (afterMs === 0) start()
  else timer = setTimeout(start, afterMs)
  return {
    stop: async () => {
      clearTimeout(timer)
      await running
    },
  }
}
