import { messageOf } from '../platform/start-error.ts'
import type { Log } from './components.ts'

export type Stoppable = {
  stop(): Promise<void>
  /** Resolves when a component ends unasked. */
  failed: Promise<Error>
  /** Resolves with the name of a component that requests a stop. */
  asked?: Promise<string>
  exitCode?: () => number
}

/** npm forwards Ctrl-C again: signals this close are one request. */
const SAME_SIGNAL_MS = 700
/** Limit for an orderly stop after an unexpected error. */
const CRASH_DEADLINE_MS = 10_000

/**
 * Runs until a signal, a component's end or an uncaught error; stops in order and returns the exit code. A second
 * signal ends the process at once; PostgreSQL's keeper stops the database even then.
 */
export async function runUntilStopped(start: () => Promise<Stoppable>, log: Log): Promise<number> {
  const signalled = onSignal()
  const crashed = onCrash(log)
  const running = await Promise.race([start(), crashed])
  if (running instanceof Error) return 1
  const reason = await Promise.race([signalled, crashed, running.failed, ...(running.asked ? [running.asked] : [])])
  if (reason instanceof Error) log.fatal({ error: messageOf(reason) }, 'parley.failed')
  else log.info({ signal: reason }, 'parley.stopping')
  await running.stop()
  if (!(reason instanceof Error)) log.info({}, 'parley.stopped')
  return reason instanceof Error ? 1 : (running.exitCode?.() ?? 0)
}

function onSignal(): Promise<NodeJS.Signals> {
  return new Promise((first) => {
    let firstAt: number | undefined
    const handle = (name: NodeJS.Signals) => {
      firstAt ??= performance.now()
      if (performance.now() - firstAt > SAME_SIGNAL_MS) process.exit(1)
      first(name)
    }
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, handle)
  })
}

/** Also catches unhandled rejections. */
function onCrash(log: Log): Promise<Error> {
  return new Promise((first) => {
    process.on('uncaughtException', (error) => {
      log.fatal({ error: error instanceof Error ? error.stack : String(error) }, 'parley.crashed')
      setTimeout(() => process.exit(1), CRASH_DEADLINE_MS).unref()
      first(error instanceof Error ? error : new Error(String(error)))
    })
  })
}
