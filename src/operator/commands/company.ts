import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { exportCompany, importCompany, releaseCompany, unlockCompany } from '../../moves/move-company.ts'
import { type AddGroup, call, inCompany } from './command.ts'
import { orNone, toNumber, toSwitch } from './option.ts'

const COMPANY = '/companies/<company>'

export function companyCommands(addGroup: AddGroup): void {
  const add = addGroup('company', 'companies: create, list, show, update, remove, move')
  withSettings(add('create <name>', 'create a company', call('POST', '/companies')))
  add('list', 'list the companies', call('GET', '/companies'))
  add('show <company>', 'show a company', call('GET', COMPANY))
  withSettings(add('update <company>', 'change a company', call('PATCH', COMPANY)).option('--name <name>', 'its name'))
  const removed = 'its keys stop working, its numbers are free, its data stays'
  add('remove <company>', `remove a company: ${removed}`, call('DELETE', COMPANY))
  add(
    'export <company> <file>',
    'lock a company and write all of it to a file; reads a passphrase from standard input',
    inCompany(async ({ move }, companyId, { file }, { stdin }) =>
      exportCompany(move, companyId, { file: String(file), passphrase: await readPassphrase(stdin) }),
    ),
  )
  add(
    'import <file>',
    'read an exported company into this installation; reads its passphrase from standard input',
    async ({ move }, { file }, { stdin }) =>
      importCompany(move, { file: String(file), passphrase: await readPassphrase(stdin) }),
  )
  const release = inCompany(({ move }, companyId) => releaseCompany(move, companyId))
  add('release <company>', 'delete a company that was exported, with its files', release)
  const unlock = inCompany(({ move }, companyId) => unlockCompany(move, companyId))
  add('reopen <company>', 'unlock a company that was exported', unlock)
}

const withSettings = (command: Command): Command =>
  command
    .option('--rate-limit-per-minute <number>', 'requests per minute that all its keys may make together', toNumber)
    .option('--read-receipts <on|off>', 'whether the console shows customers that an agent reads and writes', toSwitch)
    .option(
      '--default-country <code>',
      'country of phone numbers without + or 00, such as IT; none: they have their country code',
      orNone((code) => code.toUpperCase()),
    )
    .option('--registration-limit <number>', 'webhook registrations that it may have', toNumber)
    .option(
      '--session-rate-limit-per-minute <number>',
      'requests per minute that all its console sessions may make together',
      toNumber,
    )
    .option('--agents-may-erase <on|off>', 'whether console sessions with the role agent may erase contacts', toSwitch)

const MAX_PASSPHRASE = 1_000

/** Returns the first line; it must have at least 12 characters. */
async function readPassphrase(stdin: NodeJS.ReadableStream): Promise<string> {
  const [line = ''] = (await text(stdin)).split('\n')
  return line.trim().slice(0, MAX_PASSPHRASE)
}
