import type { Command } from 'commander'
import { getEvent } from '../queues/event.ts'
import { type AddGroup, type CommandWork, call, type Row } from './command.ts'
import { toNumber } from './option.ts'

export function eventCommands(addGroup: AddGroup): void {
  const about = 'inbound events: unroutable, failed, show, retry, retry-failed, retry-unroutable'
  const add = addGroup('events', `${about}; accounts lists the journal of accounts`)
  const addList = (list: string, about: string) =>
    withFilter(withPage(add(list, `list those ${about}, newest first`, call('GET', `/${list}-events`))))
  const addRetry = (list: string, about: string) =>
    withRetryFilter(add(`retry-${list}`, about, call('POST', `/${list}-events/retry`)))

  addList('unroutable', 'that no connected number wants')
  addList('failed', 'that could not be read or processed')
  const reports = 'list what providers reported about accounts, numbers and templates, newest first'
  const accounts = call('GET', ({ company }) => `${company ? '/companies/<company>' : ''}/account-events`)
  const toRow = ({ details, ...row }: Row) => ({ ...row, details: JSON.stringify(details) })
  withPage(add('accounts [company]', reports, accounts, { toRow }))
  const show: CommandWork = (deps, { event }) => getEvent(deps, 'all', String(event))
  add('show <event>', 'show one of them, with its whole body', show)
  addRetry('failed', 'process the failed ones that match once more')
  addRetry('unroutable', 'process those that match and whose number is connected by now')
  add('retry <event>', 'process a failed one once more', call('POST', '/failed-events/<event>/retry'))
}

const withPage = (command: Command): Command =>
  command
    .option('--before <event>', 'only those with smaller ids')
    .option('--limit <number>', 'at most 100; 25 when absent')

const withFilter = (command: Command): Command =>
  command
    .option('--reason <text>', 'only those whose reason has this text')
    .option('--phone-number-id <id>', 'only those of this number at the provider')

const withRetryFilter = (command: Command): Command =>
  withFilter(command.option('--state <state>', 'only those in this state'))
    .option('--waba-account-id <id>', 'only those of this business account')
    .option('--app <app>', 'only those of this app of the provider')
    .option('--since <time>', 'only those that arrived at this time or later')
    .option('--until <time>', 'only those that arrived before this time')
    .option('--limit <number>', 'at most 10000, the oldest first; 1000 when absent', toNumber)
