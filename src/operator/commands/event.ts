import type { Command } from 'commander'
import { accountEventPage, companyNamed, retryEvent } from '../operator.ts'
import { getEvent, listEvents, retryEvents } from '../queues/event.ts'
import { FailedRetryBody, UnroutableRetryBody } from '../queues/event-shape.ts'
import { commandGroup, type OpenOperator, parseOptions, toNumber } from './command.ts'

const LISTS = [
  { list: 'unroutable', about: 'that no connected number wants' },
  { list: 'failed', about: 'that could not be read or processed' },
] as const

const RETRIES = [
  { list: 'failed', about: 'process the failed ones that match once more' },
  { list: 'unroutable', about: 'process those that match and whose number is connected by now' },
] as const
const RETRY_BODIES = { failed: FailedRetryBody, unroutable: UnroutableRetryBody }

type ListOptions = { before?: string; limit?: string; reason?: string; phoneNumberId?: string }

export function eventCommands(program: Command, open: OpenOperator): void {
  const about =
    'inbound events: unroutable, failed, show, retry, retry-failed, retry-unroutable; accounts lists the journal of accounts'
  const { add, run } = commandGroup(program, 'events', about, open)

  for (const { list, about } of LISTS) {
    add(list, `list those ${about}, newest first`)
      .option('--before <event>', 'only those with smaller ids')
      .option('--limit <number>', 'at most 100; 25 when absent')
      .option('--reason <text>', 'only those whose reason has this text')
      .option('--phone-number-id <id>', 'only those of this number at the provider')
      .action((options: ListOptions, command: Command) => run(command, (deps) => listEvents(deps, list, options)))
  }

  add('accounts [company]', 'list what providers reported about accounts, numbers and templates, newest first')
    .option('--before <event>', 'only those with smaller ids')
    .option('--limit <number>', 'at most 100; 25 when absent')
    .action((company: string | undefined, options: { before?: string; limit?: string }, command: Command) =>
      run(command, async (deps) => {
        const companyId = company === undefined ? null : (await companyNamed(deps.db, company)).id
        const rows = await accountEventPage(deps.db, companyId, options)
        return rows.map(({ details, ...row }) => ({ ...row, details: JSON.stringify(details) }))
      }),
    )

  add('show <event>', 'show one of them, with its whole body').action(
    (event: string, _options: object, command: Command) => run(command, (deps) => getEvent(deps, 'all', event)),
  )

  for (const { list, about } of RETRIES) {
    add(`retry-${list}`, about)
      .option('--state <state>', 'only those in this state')
      .option('--reason <text>', 'only those whose reason has this text')
      .option('--phone-number-id <id>', 'only those of this number at the provider')
      .option('--waba-account-id <id>', 'only those of this business account')
      .option('--app <app>', 'only those of this app of the provider')
      .option('--since <time>', 'only those that arrived at this time or later')
      .option('--until <time>', 'only those that arrived before this time')
      .option('--limit <number>', 'at most 10000, the oldest first; 1000 when absent', toNumber)
      .action((options: object, command: Command) =>
        run(command, async (deps) => ({
          success: true,
          count: await retryEvents(deps, list, parseOptions(RETRY_BODIES[list], { ...options })),
        })),
      )
  }

  add('retry <event>', 'process a failed one once more').action((event: string, _options: object, command: Command) =>
    run(command, (deps) => retryEvent(deps, event)),
  )
}
