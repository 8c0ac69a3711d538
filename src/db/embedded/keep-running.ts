import { setTimeout as sleep } from 'node:timers/promises'
import { isDiskFull } from '../../files/writable-folder.ts'
import { messageOf, StartError } from '../../start-error.ts'
import { type Server, ServerCrashed } from './server.ts'

/** The pause before each attempt to start a server again: for room on its disk, and so that one that crashes at once does so rarely. */
const PAUSE_MS = 1_000

export type ServerEvents = {
  /** The server has ended because its disk is full. */
  onDiskFull?(message: string): void
  /** The server has ended because one of its processes crashed. */
  onCrash?(message: string): void
  /** The server has started again. */
  onRestart?(): void
}

type Restart = {
  /** Whether the disk has room for a start. */
  hasRoom(): boolean
  start(): Promise<Server>
}

/**
 * The server, which is started again when one of its processes has crashed, and when it has ended on a full disk and there is room.
 * PostgreSQL could do the first itself (`restart_after_crash`), but 18.4 stays without its startup process for ever when that fails
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
    try {
      const server = await untilStarted(restart, stopping.signal)
      if (server === undefined) return
      follow(server)
      events.onRestart?.()
    } catch (error) {
      ended.resolve(error instanceof StartError ? error : new StartError(messageOf(error), error))
    }
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
async function untilStarted({ hasRoom, start }: Restart, stopping: AbortSignal): Promise<Server | undefined> {
  while (!stopping.aborted) {
    await sleep(PAUSE_MS, undefined, { signal: stopping }).catch(() => {})
    if (stopping.aborted || !hasRoom()) continue
    try {
      return await start()
    } catch (error) {
      // It has filled up meanwhile.
      if (!isDiskFull(error)) throw error
    }
  }
  return undefined
}
