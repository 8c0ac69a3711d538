import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { exportCompany, importCompany, releaseCompany, unlockCompany } from '../../moves/move-company.ts'
import { type AddGroup, type CommandWork, call, inCompany } from './command.ts'
import { orNone, toNumber, toSwitch } from './option.ts'

const COMPANY = '/companies/<company>'

export function companyCommands(addGroup: AddGroup): void {
  const add = addGroup('company', 'companies: create, list, show, update, remove, move')
  withSettings(add('create <name>', 'create a company', call('POST', '/companies')))
  add('list', 'list companies', call('GET', '/companies'))
  add('show <company>', 'show a company', call('GET', COMPANY))
  withSettings(add('update <company>', 'update a company', call('PATCH', COMPANY)).option('--name <name>', 'new name'))
  add('remove <company>', 'revoke its keys and free its numbers; its data stays', call('DELETE', COMPANY))
  add('export <company> <file>', 'lock a company and export it to a file; reads a passphrase from stdin', exportToFile)
  add('import <file>', 'import an exported company; reads its passphrase from stdin', importFromFile)
  add('release <company>', 'delete an exported company and its files', release)
  add('reopen <company>', 'unlock an exported company', reopen)
}

const withSettings = (command: Command): Command =>
  command
    .option('--rate-limit-per-minute <number>', 'requests per minute for all API keys together', toNumber)
    .option('--read-receipts <on|off>', 'whether the console sends read receipts and typing indicators', toSwitch)
    .option('--default-country <code>', 'country of phone numbers without + or 00; none refuses them', toCountry)
    .option('--registration-limit <number>', 'maximum number of webhook registrations', toNumber)
    .option('--session-rate-limit-per-minute <number>', 'requests per minute for all sessions together', toNumber)
    .option('--agents-may-erase <on|off>', 'whether sessions with the role agent may erase contacts', toSwitch)

const toCountry = orNone((code) => code.toUpperCase())

const exportToFile = inCompany(async ({ move }, companyId, { file }, { stdin }) =>
  exportCompany(move, companyId, { file: String(file), passphrase: await readPassphrase(stdin) }),
)

const importFromFile: CommandWork = async ({ move }, { file }, { stdin }) =>
  importCompany(move, { file: String(file), passphrase: await readPassphrase(stdin) })

const release = inCompany(({ move }, companyId) => releaseCompany(move, companyId))

const reopen = inCompany(({ move }, companyId) => unlockCompany(move, companyId))

const MAX_PASSPHRASE = 1_000

/** Returns the first line; it must have at least 12 characters. */
async function readPassphrase(stdin: NodeJS.ReadableStream): Promise<string> {
  const [line = ''] = (await text(stdin)).split('\n')
  return line.trim().slice(0, MAX_PASSPHRASE)
}
