import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { meanOf, medianOf } from './average.ts'

/**
 * The task of the load process. In `path`, `headers` and `body`, `{n}` stands for a number that never comes again, `{at}` for
 * the time at which the request is due in ms since 1970, `{phone}` for one of `phones` numbers, `{choice}` for the next of `choices`.
 */
export type LoadOrder = {
  url: string
  method?: 'GET' | 'POST' | 'DELETE'
  path: string
  headers?: Record<string, string>
  body?: string
  phones?: number
  choices?: string[]
  /** Requests in flight; with `perSecond`, the most connections. */
  concurrency: number
  /** Requests are due at this constant rate, however long the answers take, and their times start when they are due. */
  perSecond?: number
  /** How long; or, with `requests`, how many. */
  seconds?: number
  requests?: number
  /** The expected status. Default: 200. */
  status?: number
  /** A pattern that every answer has to fit, else it is wrong. The text of its group may come once only, else it is doubled. */
  fits?: string
}

export type LoadReport = {
  answered: number
  perSecond: number
  seconds: number
  /** When the first request was due, in ms since 1970. */
  startedAtMs: number
  p50Ms: number
  p99Ms: number
  maxMs: number
  /** Answers of another status, by status, and requests that had none, by reason. */
  failed: Record<string, number>
  wrong: number
  doubled: number
}

export type Load = { run(order: LoadOrder): Promise<LoadReport>; stop(): Promise<void> }

/** Starts the process that all load comes from. */
export function startLoad(): Load {
  const child = fork(fileURLToPath(new URL('./load-process.ts', import.meta.url)))
  const exited = once(child, 'exit')
  const failed = exited.then(() => Promise.reject(new Error('The load process ended')))
  failed.catch(() => {})
  return {
    run: async (order) => {
      child.send(order)
      const [report] = await Promise.race([once(child, 'message'), failed])
      return report
    },
    stop: async () => {
      child.disconnect()
      await exited
    },
  }
}

/** Of the runs of one thing: the sum of the answers, the mean of rates and times. */
export function joinReports(reports: readonly LoadReport[]): Pick<LoadReport, 'answered' | 'perSecond' | 'p99Ms'> {
  const mean = (of: (report: LoadReport) => number) => meanOf(reports.map(of))
  return {
    answered: reports.reduce((sum, { answered }) => sum + answered, 0),
    perSecond: mean(({ perSecond }) => perSecond),
    p99Ms: mean(({ p99Ms }) => p99Ms),
  }
}

/** The medians in ms of orders that are run by turns, so that other load of the machine affects all alike. */
export async function mediansByTurns<Name extends string>(
  load: Load,
  orders: Record<Name, LoadOrder>,
): Promise<Record<Name, number>> {
  const times = new Map<string, number[]>()
  for (let round = 0; round <= 5; round += 1) {
    for (const [name, order] of Object.entries<LoadOrder>(orders)) {
      const { p50Ms } = requireCleanReport(name, await load.run(order))
      // The first round warms up.
      if (round > 0) times.set(name, [...(times.get(name) ?? []), p50Ms])
    }
  }
  return Object.fromEntries([...times].map(([name, some]) => [name, medianOf(some)])) as Record<Name, number>
}

/** Returns the report; stops a benchmark whose load had errors, since its figures mean nothing. */
export function requireCleanReport(what: string, report: LoadReport): LoadReport {
  const { answered, failed, wrong, doubled } = report
  if (answered > 0 && Object.keys(failed).length === 0 && wrong === 0 && doubled === 0) return report
  throw new Error(`${what}: ${JSON.stringify({ answered, failed, wrong, doubled })}`)
}
