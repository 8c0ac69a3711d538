import type { Command } from 'commander'
import { getEvent } from '../queues/event.ts'
import { type AddGroup, type CommandWork, call, type Row } from './command.ts'
import { toNumber } from './option.ts'

export function eventCommands(addGroup: AddGroup): void {
  const add = addGroup('events', 'inbound events and provider reports: list, show, retry')
  const addList = (list: string, about: string) =>
    withFilter(withPage(add(list, `list ${about}, newest first`, call('GET', `/${list}-events`))))
  const addRetry = (list: string, about: string) =>
    withRetryFilter(add(`retry-${list}`, about, call('POST', `/${list}-events/retry`)))

  addList('unroutable', 'events without a connected number')
  addList('failed', 'events that could not be read or processed')
  const reports = 'list provider reports about accounts, numbers and templates, newest first'
  const accounts = call('GET', ({ company }) => `${company ? '/companies/<company>' : ''}/account-events`)
  const toRow = ({ details, ...row }: Row) => ({ ...row, details: JSON.stringify(details) })
  withPage(add('accounts [company]', reports, accounts, { toRow }))
  const show: CommandWork = (deps, { event }) => getEvent(deps, 'all', String(event))
  add('show <event>', 'show an event with its whole body', show)
  addRetry('failed', 'retry matching failed events')
  addRetry('unroutable', 'retry matching events whose number is now connected')
  add('retry <event>', 'retry a failed event', call('POST', '/failed-events/<event>/retry'))
}

const withPage = (command: Command): Command =>
  command
    .option('--before <event>', 'only events with smaller ids')
    .option('--limit <number>', 'page size, at most 100; by default 25')

const withFilter = (command: Command): Command =>
  command
    .option('--reason <text>', 'only events with this text in their reason')
    .option('--phone-number-id <id>', "only events of this number, by the provider's id")

const withRetryFilter = (command: Command): Command =>
  withFilter(command.option('--state <state>', 'only events in this state'))
    .option('--waba-account-id <id>', 'only events of this business account')
    .option('--app <app>', 'only events of this provider app')
    .option('--since <time>', 'only events received at this time or later')
    .option('--until <time>', 'only events received before this time')
    .option('--limit <number>', 'oldest first, at most 10000; by default 1000', toNumber)
