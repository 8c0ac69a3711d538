import { messageOf } from './start-error.ts'

/** The little of a logger that starting and stopping need. */
export type Log = {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  fatal(fields: object, message: string): void
}

export type Part = { stop(): Promise<unknown> }

/** What has been started, to be stopped in reverse order. */
export type Parts = {
  /** Starts one more part; it is stopped before all that were added earlier. */
  add<T extends Part>(name: string, start: () => T | Promise<T>): Promise<T>
  /** Stops all parts, each though others fail; a second call waits for the first. */
  stop(): Promise<void>
}

export function createParts(log: Log): Parts {
  const started: { name: string; part: Part }[] = []
  let stopping: Promise<void> | undefined
  return {
    add: async (name, start) => {
      const part = await start()
      started.push({ name, part })
      return part
    },
    stop: () => {
      stopping ??= stopAll(started, log)
      return stopping
    },
  }
}

async function stopAll(started: { name: string; part: Part }[], log: Log): Promise<void> {
  for (const { name, part } of started.toReversed()) {
    try {
      await part.stop()
    } catch (error) {
      log.error({ part: name, error: messageOf(error) }, 'part.stop.failed')
    }
  }
}
