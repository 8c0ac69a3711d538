import type { Command } from 'commander'
import { PERMISSIONS } from '../../http/admission/caller.ts'
import { type AddGroup, call } from './command.ts'
import { orNone, toNamesOrNone, toNumber } from './option.ts'

const KEYS = '/companies/<company>/api-keys'
const KEY = `${KEYS}/<clientId>`

export function keyCommands(addGroup: AddGroup): void {
  const add = addGroup('key', 'API keys of a company: create, list, update, revoke')
  const create = add('create <company>', 'create an API key; its token is shown only once', call('POST', KEYS))
    .requiredOption('--name <name>', 'key name')
    .requiredOption('--permissions <names...>', `permissions: ${PERMISSIONS.join(', ')}`)
    .option('--allowed-origins <origins...>', 'web page origins that may use the key')
    .option('--expires-at <date>', 'expiry date or time in ISO 8601')
    .option('--identity-secret', 'browser keys: create a secret for identity proofs, shown only once')
  withBrowserSettings(create)
  add('list <company>', 'list active API keys', call('GET', KEYS))
  withBrowserSettings(add('update <company> <clientId>', 'update a browser key; none resets', call('PATCH', KEY)))
  add('revoke <company> <clientId>', 'revoke an API key', call('DELETE', KEY))
}

const withBrowserSettings = (command: Command): Command =>
  command
    .option('--rate-limit-per-minute <number>', 'browser keys: requests per minute', orNone(toNumber))
    .option(
      '--rate-limit-per-address <number>',
      'browser keys: requests per minute and client address',
      orNone(toNumber),
    )
    .option('--stored-bytes-per-hour <number>', 'browser keys: stored bytes per hour', orNone(toNumber))
    .option('--writable-fields <names...>', 'browser keys: writable contact members', toNamesOrNone)
