import type { Counter } from 'prom-client'

export type Sweep = { stop(): Promise<void> }

type SweepDeps = {
  log: { error(fields: object, message: string): void }
  metrics: { sweeps: Pick<Counter<'sweep' | 'outcome'>, 'inc'> }
}

type SweepSchedule = {
  name: string
  everyMs: number
  /** Staggers the first runs. */
  afterMs?: number
}

/** Runs work every `everyMs` without overlap, logging and counting failures. `stop` waits for the current run. */
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
