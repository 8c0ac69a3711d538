import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/**
 * The task of the load process. In `body` and `path`, `{n}` stands for a number that never comes again, `{phone}` for
 * one of `phones` telephone numbers, `{choice}` for the next of `choices`.
 */
export type LoadOrder = {
  url: string
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  headers?: Record<string, string>
  body?: string
  phones?: number
  choices?: string[]
  /** Requests in flight. */
  concurrency: number
  /** How long; or, with `requests`, how many. */
  seconds?: number
  requests?: number
  /** The expected status. Default: 200. */
  status?: number
  /**
   * A pattern that every answer has to fit, else it is wrong. The text of its group may come once only, else the answer
   * is doubled.
   */
  fits?: string
}

export type LoadReport = {
  answered: number
  perSecond: number
  seconds: number
  p50Ms: number
  p99Ms: number
  maxMs: number
  /** Answers of another status, by status, and requests that had none, by reason. */
  failed: Record<string, number>
  wrong: number
  doubled: number
  /** Processor time of the load process itself. */
  cpuSeconds: number
}

export type Load = {
  run(order: LoadOrder): Promise<LoadReport>
  stop(): Promise<void>
}

/** Starts the process that all load comes from. */
export function startLoad(): Load {
  const child = fork(fileURLToPath(new URL('./load-process.ts', import.meta.url)))
  const exited = once(child, 'exit')
  return {
    run: async (order) => {
      child.send(order)
      const [report] = await Promise.race([
        once(child, 'message'),
        exited.then(() => {
          throw new Error('The load process ended')
        }),
      ])
      return report
    },
    stop: async () => {
      child.disconnect()
      await exited
    },
  }
}

/** Of the runs of one thing: rates and times taken together, the worst kept. */
export function joinReports(reports: readonly LoadReport[]): LoadReport {
  const mean = (of: (report: LoadReport) => number) =>
    reports.reduce((sum, report) => sum + of(report), 0) / reports.length
  const most = (of: (report: LoadReport) => number) => Math.max(...reports.map(of))
  const total = (of: (report: LoadReport) => number) => mean(of) * reports.length
  const failed: Record<string, number> = {}
  for (const report of reports) {
    for (const [reason, count] of Object.entries(report.failed)) failed[reason] = (failed[reason] ?? 0) + count
  }
  return {
    answered: total(({ answered }) => answered),
    perSecond: mean(({ perSecond }) => perSecond),
    seconds: total(({ seconds }) => seconds),
    p50Ms: mean(({ p50Ms }) => p50Ms),
    p99Ms: mean(({ p99Ms }) => p99Ms),
    maxMs: most(({ maxMs }) => maxMs),
    failed,
    wrong: total(({ wrong }) => wrong),
    doubled: total(({ doubled }) => doubled),
    cpuSeconds: total(({ cpuSeconds }) => cpuSeconds),
  }
}

/** Stops a benchmark whose figures would be worth nothing. */
export function requireCleanReport(what: string, { answered, failed, wrong, doubled }: LoadReport): void {
  if (answered > 0 && Object.keys(failed).length === 0 && wrong === 0 && doubled === 0) return
  throw new Error(`${what}: ${JSON.stringify({ answered, failed, wrong, doubled })}`)
}
