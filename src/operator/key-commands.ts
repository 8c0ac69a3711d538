import type { Command } from 'commander'
import { createApiKey, listApiKeys, revokeApiKey } from '../companies/api-key.ts'
import { PERMISSIONS } from '../http/caller.ts'
import { NewApiKeyBody, toApiKeyReply, toNewApiKeyReply } from './api-key-shape.ts'
import { commandGroup, type OpenOperator, parseOptions } from './command.ts'
import { companyNamed } from './operator.ts'

/** `parley key …` */
export function keyCommands(program: Command, open: OpenOperator): void {
  const { add, run } = commandGroup(program, 'key', 'API keys of a company: create, list, revoke', open)

  add('create <company>', 'make an API key; its token is shown this once')
    .requiredOption('--name <name>', 'what the key is for')
    .requiredOption('--permissions <names...>', `what it may do: ${PERMISSIONS.join(', ')}`)
    .option('--allowed-origins <origins...>', 'origins of web pages that may use it')
    .option('--expires-at <date>', 'when it stops working: an ISO 8601 date or time')
    .action((company: string, options: object, command: Command) =>
      run(command, async (deps) => {
        const { id } = await companyNamed(deps.db, company)
        return toNewApiKeyReply(await createApiKey(deps, id, parseOptions(NewApiKeyBody, options)))
      }),
    )

  add('list <company>', 'list the API keys that are not revoked').action(
    (company: string, _options: object, command: Command) =>
      run(command, async ({ db }) => {
        const { id } = await companyNamed(db, company)
        return (await listApiKeys(db, id)).map(toApiKeyReply)
      }),
  )

  add('revoke <company> <clientId>', 'end an API key for good').action(
    (company: string, clientId: string, _options: object, command: Command) =>
      run(command, async (deps) => {
        const { id } = await companyNamed(deps.db, company)
        await revokeApiKey(deps, id, clientId)
        return { success: true }
      }),
  )
}
