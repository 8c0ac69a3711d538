import { setTimeout as sleep } from 'node:timers/promises'
import { isDiskFull } from '../../platform/files/writable-folder.ts'
import { messageOf, type StartError } from '../../platform/start-error.ts'
import { type Server, ServerCrashed } from './server.ts'

/** The server may need disk room, or crash again during recovery. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
const ROOM_MS = 1_000

export type ServerEvents = {
  onDiskFull?(message: string): void
  onCrash?(message: string): void
  /** A restart failed and more attempts follow. Called once per outage. */
  onRestartFailure?(message: string): void
  onRestart?(): void
}

type Restart = {
  hasRoom(): boolean
  start(): Promise<Server>
}

/**
 * Restarts the server after a crash, and after a full disk once there is room. `restart_after_crash` is off: PostgreSQL
 * 18.4 hangs without a startup process if that one fails within milliseconds, as on a full disk.
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
      // A disk that filled up meanwhile is already reported.
      if (failures === 0 && !isDiskFull(error)) onRestartFailure?.(messageOf(error))
      await pause(Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS))
      failures += 1
    }
  }
  return undefined
}
