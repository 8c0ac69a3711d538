import { setTimeout as sleep } from 'node:timers/promises'
import { isDiskFull } from '../../platform/files/writable-folder.ts'
import { messageOf, type StartError } from '../../platform/start-error.ts'
import { type Server, ServerCrashed } from './server.ts'

/** The pauses before attempts to start a server again: it may need room on its disk, or crash again while it recovers. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
/** How often a full disk is asked for room. */
const ROOM_MS = 1_000

export type ServerEvents = {
  /** The server has ended because its disk is full. */
  onDiskFull?(message: string): void
  /** The server has ended because one of its processes crashed. */
  onCrash?(message: string): void
  /** It could not be started again, and further attempts follow. Called once until it runs. */
  onRestartFailure?(message: string): void
  /** The server has started again. */
  onRestart?(): void
}

type Restart = {
  /** Whether the disk has room for a start. */
  hasRoom(): boolean
  start(): Promise<Server>
}

/**
 * The server, which is started again when one of its processes has crashed, and when it has ended on a full disk and there is room:
 * until it runs, however often it ends before. PostgreSQL could do the first itself (`restart_after_crash`), but 18.4 stays without its startup process for ever when that fails
 * within milliseconds, as on a full disk.
 */
export function keepRunning(first: Server, restart: Restart, events: ServerEvents): Server {
  const stopping = new AbortController()
  const ended = Promise.withResolvers<StartError>()
  let current = first
  let restarting: Promise<void> = Promise.resolve()

  const follow = (server: Server): void => {
    current = server
    void server.ended.then((failure) => {
      if (isDiskFull(failure)) events.onDiskFull?.(failure.message)
      else if (failure instanceof ServerCrashed) events.onCrash?.(failure.message)
      else return ended.resolve(failure)
      restarting = startAgain()
    })
  }
  const startAgain = async (): Promise<void> => {
    const server = await untilStarted(restart, events, stopping.signal)
    if (server === undefined) return
    follow(server)
    events.onRestart?.()
  }
  follow(first)
  return {
    ended: ended.promise,
    stop: async () => {
      stopping.abort()
      await restarting
      await current.stop()
    },
  }
}

/** Undefined: `stopping` came first. */
async function untilStarted(
  { hasRoom, start }: Restart,
  { onRestartFailure }: ServerEvents,
  stopping: AbortSignal,
): Promise<Server | undefined> {
  let failures = 0
  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping }).catch(() => {})
  await pause(FIRST_PAUSE_MS)
  while (!stopping.aborted) {
    if (!hasRoom()) {
      await pause(ROOM_MS)
      continue
    }
    try {
      return await start()
    } catch (error) {
      // A disk that has filled up meanwhile is reported already.
      if (failures === 0 && !isDiskFull(error)) onRestartFailure?.(messageOf(error))
      await pause(Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS))
      failures += 1
    }
  }
  return undefined
}
