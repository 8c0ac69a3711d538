import type { Command } from 'commander'
import { listSetAside } from '../inbound/item-store.ts'
import { commandGroup, type OpenOperator } from './command.ts'
import { toEventReply } from './event-shape.ts'
import { retryEvent } from './operator.ts'

/** `parley events …` */
export function eventCommands(program: Command, open: OpenOperator): void {
  const about = 'inbound events that could not be placed or processed: unroutable, failed, retry'
  const { add, run } = commandGroup(program, 'events', about, open)

  add('unroutable', 'list those that no connected number wants').action((_options: object, command: Command) =>
    run(command, async ({ db }) => (await listSetAside(db, ['unroutable'])).map(toEventReply)),
  )

  add('failed', 'list those that could not be read or processed').action((_options: object, command: Command) =>
    run(command, async ({ db }) => (await listSetAside(db, ['failed', 'unreadable'])).map(toEventReply)),
  )

  add('retry <event>', 'process a failed one once more').action((event: string, _options: object, command: Command) =>
    run(command, async (deps) => {
      await retryEvent(deps, event)
      return { success: true }
    }),
  )
}
