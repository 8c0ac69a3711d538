import type { Command } from 'commander'
import { PERMISSIONS } from '../../http/admission/caller.ts'
import { type AddGroup, call } from './command.ts'
import { orNone, toNamesOrNone, toNumber } from './option.ts'

const KEYS = '/companies/<company>/api-keys'
const KEY = `${KEYS}/<clientId>`

export function keyCommands(addGroup: AddGroup): void {
  const add = addGroup('key', 'API keys of a company: create, list, update, revoke')
  const create = add('create <company>', 'make an API key; its token is shown this once', call('POST', KEYS))
    .requiredOption('--name <name>', 'what the key is for')
    .requiredOption('--permissions <names...>', `what it may do: ${PERMISSIONS.join(', ')}`)
    .option('--allowed-origins <origins...>', 'origins of web pages that may use it')
    .option('--expires-at <date>', 'when it stops working: an ISO 8601 date or time')
    .option('--identity-secret', 'for browsers: make a secret for proofs of identity, which is shown this once')
  withBrowserSettings(create)
  add('list <company>', 'list the API keys that are not revoked', call('GET', KEYS))
  const update = 'change a key for browsers; none sets the default'
  withBrowserSettings(add('update <company> <clientId>', update, call('PATCH', KEY)))
  add('revoke <company> <clientId>', 'end an API key for good', call('DELETE', KEY))
}

const withBrowserSettings = (command: Command): Command =>
  command
    .option('--rate-limit-per-minute <number>', 'for browsers: requests of the key in 60 seconds', orNone(toNumber))
    .option('--rate-limit-per-address <number>', 'for browsers: those of one client address', orNone(toNumber))
    .option(
      '--stored-bytes-per-hour <number>',
      'for browsers: bytes that the key may store in an hour',
      orNone(toNumber),
    )
    .option('--writable-fields <names...>', 'for browsers: members of contacts that it may write', toNamesOrNone)
