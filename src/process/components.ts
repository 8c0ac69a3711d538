import { messageOf } from '../platform/start-error.ts'

export type Log = {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  fatal(fields: object, message: string): void
}

export type Component = { stop(): Promise<unknown> }

export type Components = {
  add<T extends Component>(name: string, start: () => T | Promise<T>): Promise<T>
  /** Stops all components in reverse order, each even if others fail; a second call waits for the first. */
  stop(): Promise<void>
}

/** Creates a component list. `stop` can be called more than once. */
export function createComponents(log: Log): Components {
  const started: { name: string; component: Component }[] = []
  let stopping: Promise<void> | undefined
  return {
    add: async (name, start) => {
      const component = await start()
      started.push({ name, component })
      return component
    },
    stop: () => {
      stopping ??= stopAll(started, log)
      return stopping
    },
  }
}

async function stopAll(started: { name: string; component: Component }[], log: Log): Promise<void> {
  for (const { name, component } of started.toReversed()) {
    try {
      await component.stop()
    } catch (error) {
      log.error({ component: name, error: messageOf(error) }, 'component.stop.failed')
    }
  }
}
