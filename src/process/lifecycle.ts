import { messageOf } from '../platform/start-error.ts'
import type { Log } from './components.ts'

export type Stoppable = {
  stop(): Promise<void>
  /** Resolves when a part ends that should not have. */
  failed: Promise<Error>
  /** Resolves with the name of the component that asks for a stop other than by a signal. */
  asked?: Promise<string>
  /** The exit code after a stop in order; absent: 0. */
  exitCode?: () => number
}

/**
 * Ctrl-C reaches a whole process group, and npm passes it on once more: what comes this soon after the first signal is
 * the same request, not a second one.
 */
const SAME_SIGNAL_MS = 700
/** After an unexpected error, stopping in order may take this long. */
const CRASH_DEADLINE_MS = 10_000

/**
 * Runs what `start` starts until a signal, a component that ends or an uncaught error, stops it in order, and answers
 * the exit code: that of `start`'s result after a signal, else 1. A second signal ends the process at once; PostgreSQL
 * has a keeper of its own that stops it even then.
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

/** Unhandled rejections arrive here too. */
function onCrash(log: Log): Promise<Error> {
  return new Promise((first) => {
    process.on('uncaughtException', (error) => {
      log.fatal({ error: error instanceof Error ? error.stack : String(error) }, 'parley.crashed')
      setTimeout(() => process.exit(1), CRASH_DEADLINE_MS).unref()
      first(error instanceof Error ? error : new Error(String(error)))
    })
  })
}
