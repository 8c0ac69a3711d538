import { setTimeout as sleep } from 'node:timers/promises'
import { isDiskFull } from '../../files/writable-folder.ts'
import { messageOf, StartError } from '../../start-error.ts'
import type { Server } from './server.ts'

/** How often a server that ended on a full disk looks for room. */
const LOOK_MS = 1_000

export type DiskEvents = {
  /** The server has ended because its disk is full. */
  onDiskFull?(message: string): void
  /** There was room again, and the server has started. */
  onRestart?(): void
}

type Restart = {
  /** Whether the disk has room for a start. */
  hasRoom(): boolean
  start(): Promise<Server>
}

/** The server, which is started again when it has ended on a full disk and there is room. */
export function outlastFullDisk(first: Server, restart: Restart, events: DiskEvents): Server {
  const stopping = new AbortController()
  const ended = Promise.withResolvers<StartError>()
  let current = first
  let restarting: Promise<void> = Promise.resolve()

  const follow = (server: Server): void => {
    current = server
    void server.ended.then((failure) => {
      if (!isDiskFull(failure)) return ended.resolve(failure)
      events.onDiskFull?.(failure.message)
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
    await sleep(LOOK_MS, undefined, { signal: stopping }).catch(() => {})
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
