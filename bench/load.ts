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

/**
 * `count`: requests that were answered as expected. `startedAtMs`: when the first was due, in ms since 1970. `failed`: the others by
 * status or reason.
 */
export type LoadReport = {
  count: number
  perSecond: number
  startedAtMs: number
  p50Ms: number
  p99Ms: number
  failed: Record<string, number>
}

/** Throws when a load had errors, since its figures mean nothing. */
export type Load = { run(order: LoadOrder): Promise<LoadReport>; stop(): Promise<void> }

/** Starts the process that all load comes from. */
export function startLoad(): Load {
  const child = fork(fileURLToPath(new URL('./load-process.ts', import.meta.url)))
  const exited = once(child, 'exit')
  const ended = exited.then(() => Promise.reject(new Error('The load process ended')))
  ended.catch(() => {})
  return {
    run: async (order) => {
      child.send(order)
      const [report] = (await Promise.race([once(child, 'message'), ended])) as [LoadReport]
      const { count, failed } = report
      if (order.tolerant || (count > 0 && Object.keys(failed).length === 0)) return report
      throw new Error(`${order.path}: ${JSON.stringify({ count, failed })}`)
    },
    stop: async () => {
      child.disconnect()
      await exited
    },
  }
}
