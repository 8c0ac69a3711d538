import type { Command } from 'commander'
import { listAccountEvents } from '../../accounts/account-event-store.ts'
import { parseBefore } from '../../http/paging/paging.ts'
import { ACCOUNT_EVENT_PAGE, toAccountEventReply } from '../companies/account-event-shape.ts'
import { companyNamed, retryEvent } from '../operator.ts'
import { getEvent, listEvents } from '../queues/event.ts'
import { commandGroup, type OpenOperator } from './command.ts'

const LISTS = [
  { list: 'unroutable', about: 'that no connected number wants' },
  { list: 'failed', about: 'that could not be read or processed' },
] as const

/** `parley events …` */
export function eventCommands(program: Command, open: OpenOperator): void {
  const about = 'inbound events: unroutable, failed, show, retry; accounts lists the journal of accounts'
  const { add, run } = commandGroup(program, 'events', about, open)

  for (const { list, about } of LISTS) {
    add(list, `list those ${about}, newest first`)
      .option('--before <event>', 'only those with smaller ids')
      .option('--limit <number>', 'at most 100; 25 when absent')
      .action((options: { before?: string; limit?: string }, command: Command) =>
        run(command, (deps) => listEvents(deps, list, options)),
      )
  }

  add('accounts [company]', 'list what providers reported about accounts, numbers and templates, newest first')
    .option('--before <event>', 'only those with smaller ids')
    .option('--limit <number>', 'at most 100; 25 when absent')
    .action((company: string | undefined, options: { before?: string; limit?: string }, command: Command) =>
      run(command, async (deps) => {
        const companyId = company === undefined ? null : (await companyNamed(deps.db, company)).id
        const rows = await listAccountEvents(deps.db, companyId, parseBefore(options, ACCOUNT_EVENT_PAGE))
        return rows
          .map(toAccountEventReply)
          .map(({ details, ...row }) => ({ ...row, details: JSON.stringify(details) }))
      }),
    )

  add('show <event>', 'show one of them, with its whole body').action(
    (event: string, _options: object, command: Command) => run(command, (deps) => getEvent(deps, 'all', event)),
  )

  add('retry <event>', 'process a failed one once more').action((event: string, _options: object, command: Command) =>
    run(command, async (deps) => {
      await retryEvent(deps, event)
      return { success: true }
    }),
  )
}
