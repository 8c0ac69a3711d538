import type { Command } from 'commander'
import { changeApiKey, createApiKey, listApiKeys, revokeApiKey } from '../../companies/api-key.ts'
import { checkWritableFields } from '../../contacts/write/browser-write.ts'
import { PERMISSIONS } from '../../http/admission/caller.ts'
import { ApiKeyChangeBody, NewApiKeyBody, toApiKeyReply, toNewApiKeyReply } from '../companies/api-key-shape.ts'
import { commandGroup, type OpenOperator, type Options, parseOptions, toNumberOrNone, withNone } from './command.ts'

export function keyCommands(program: Command, open: OpenOperator): void {
  const { add, runFor } = commandGroup(program, 'key', 'API keys of a company: create, list, update, revoke', open)

  const create = add('create <company>', 'make an API key; its token is shown this once')
    .requiredOption('--name <name>', 'what the key is for')
    .requiredOption('--permissions <names...>', `what it may do: ${PERMISSIONS.join(', ')}`)
    .option('--allowed-origins <origins...>', 'origins of web pages that may use it')
    .option('--expires-at <date>', 'when it stops working: an ISO 8601 date or time')
    .option('--identity-secret', 'for browsers: make a secret for proofs of identity, which is shown this once')
  withBrowserSettings(create).action((company: string, options: Options, command: Command) =>
    runFor(command, company, async (deps, id) => {
      const input = parseOptions(NewApiKeyBody, toSettings(options))
      checkWritableFields(input.writableFields)
      return toNewApiKeyReply(await createApiKey(deps, id, input))
    }),
  )

  add('list <company>', 'list the API keys that are not revoked').action(
    (company: string, _options: object, command: Command) =>
      runFor(command, company, async ({ db }, id) => (await listApiKeys(db, id)).map(toApiKeyReply)),
  )

  const update = add('update <company> <clientId>', 'change a key for browsers; none sets the default')
  withBrowserSettings(update).action((company: string, clientId: string, options: Options, command: Command) =>
    runFor(command, company, async (deps, id) => {
      const change = parseOptions(ApiKeyChangeBody, toSettings(options))
      checkWritableFields(change.writableFields)
      return toApiKeyReply(await changeApiKey(deps, id, clientId, change))
    }),
  )

  add('revoke <company> <clientId>', 'end an API key for good').action(
    (company: string, clientId: string, _options: object, command: Command) =>
      runFor(command, company, (deps, id) => revokeApiKey(deps, id, clientId)),
  )
}

const withBrowserSettings = (command: Command): Command =>
  command
    .option('--rate-limit-per-minute <number>', 'for browsers: requests of the key in 60 seconds', toNumberOrNone)
    .option('--rate-limit-per-address <number>', 'for browsers: those of one client address', toNumberOrNone)
    .option('--stored-bytes-per-hour <number>', 'for browsers: bytes that the key may store in an hour', toNumberOrNone)
    .option('--writable-fields <names...>', 'for browsers: members of contacts that it may write')

const toSettings = ({ writableFields, ...options }: Options): Options => ({
  ...withNone(options, ['rateLimitPerMinute', 'rateLimitPerAddress', 'storedBytesPerHour']),
  ...(writableFields !== undefined && { writableFields: isNone(writableFields) ? null : writableFields }),
})

const isNone = (names: unknown): boolean => Array.isArray(names) && names.length === 1 && names[0] === 'none'
