import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

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
  choices?: readonly string[]
  /** Requests in flight; with `perSecond`, the most connections. Default: 64. */
  concurrency?: number
  /** Requests are due at this constant rate, however long the answers take, and their times start when they are due. */
  perSecond?: number
  /** How long; or, with `requests`, how many. */
  seconds?: number
  requests?: number
  /** The expected status. Default: 200. */
  status?: number
  /** A pattern that every answer has to fit, else it is wrong. The text of its group may come once only, else it is doubled. */
  fits?: string
  /** Other answers are counted only. Otherwise a 503 is sent again, as its Retry-After asks, and any other ends the run. */
  tolerant?: boolean
}

export type LoadReport = {
  /** Requests that were answered as expected. */
  count: number
  perSecond: number
  /** When the first request was due, in ms since 1970. */
  startedAtMs: number
  p50Ms: number
  p99Ms: number
  /** Answers of another status, by status, and requests that had none, by reason. */
  failed: Record<string, number>
  wrong: number
  doubled: number
}

/** Throws when a load had errors, since its figures mean nothing. */
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
      const [report] = (await Promise.race([once(child, 'message'), failed])) as [LoadReport]
      const { count, wrong, doubled } = report
      if (order.tolerant || (count > 0 && Object.keys(report.failed).length === 0 && wrong + doubled === 0))
        return report
      throw new Error(`${order.path}: ${JSON.stringify({ count, failed: report.failed, wrong, doubled })}`)
    },
    stop: async () => {
      child.disconnect()
      await exited
    },
  }
}
