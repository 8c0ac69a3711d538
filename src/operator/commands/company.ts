import type { Command } from 'commander'
import { createCompany, listCompanies } from '../../companies/company.ts'
import { exportCompany, importCompany, releaseCompany, unlockCompany } from '../../moves/move-company.ts'
import { CompanyChangeBody, NewCompanyBody, toCompanyReply } from '../companies/company-shape.ts'
import { changeCompany, companyNamed, removeCompany } from '../operator.ts'
import {
  commandGroup,
  type Group,
  type OpenOperator,
  parseOptions,
  readPassphrase,
  toCountry,
  toNumber,
  toSwitch,
  withNone,
} from './command.ts'

export function companyCommands(program: Command, open: OpenOperator): void {
  const about = 'companies: create, list, show, update, remove, move'
  const { add, run, runFor } = commandGroup(program, 'company', about, open)

  withSettings(add('create <name>', 'create a company')).action((name: string, options: object, command: Command) =>
    run(command, async ({ db }) =>
      toCompanyReply(
        await createCompany(db, parseOptions(NewCompanyBody, withNone({ ...options, name }, ['defaultCountry']))),
      ),
    ),
  )

  add('list', 'list the companies').action((_options: object, command: Command) =>
    run(command, async ({ db }) => (await listCompanies(db)).map(toCompanyReply)),
  )

  add('show <company>', 'show a company').action((company: string, _options: object, command: Command) =>
    run(command, async ({ db }) => toCompanyReply(await companyNamed(db, company))),
  )

  withSettings(add('update <company>', 'change a company').option('--name <name>', 'its name')).action(
    (company: string, options: object, command: Command) =>
      runFor(command, company, async (deps, id) =>
        toCompanyReply(
          await changeCompany(deps, id, parseOptions(CompanyChangeBody, withNone({ ...options }, ['defaultCountry']))),
        ),
      ),
  )

  add('remove <company>', 'remove a company: its keys stop working, its numbers are free, its data stays').action(
    (company: string, _options: object, command: Command) => runFor(command, company, removeCompany),
  )

  moveCommands({ add, run, runFor })
}

const withSettings = (command: Command): Command =>
  command
    .option('--rate-limit-per-minute <number>', 'requests per minute that all its keys may make together', toNumber)
    .option('--read-receipts <on|off>', 'whether the console shows customers that an agent reads and writes', toSwitch)
    .option(
      '--default-country <code>',
      'country of phone numbers without + or 00, such as IT; none: they have their country code',
      toCountry,
    )
    .option('--registration-limit <number>', 'webhook registrations that it may have', toNumber)
    .option(
      '--session-rate-limit-per-minute <number>',
      'requests per minute that all its console sessions may make together',
      toNumber,
    )
    .option('--agents-may-erase <on|off>', 'whether console sessions with the role agent may erase contacts', toSwitch)

/** The passphrase comes from stdin and must have at least 12 characters. */
function moveCommands({ add, run, runFor }: Group): void {
  add(
    'export <company> <file>',
    'lock a company and write all of it to a file; reads a passphrase from standard input',
  ).action((company: string, file: string, _options: object, command: Command) =>
    runFor(command, company, async (deps, id) =>
      exportCompany(deps.move, id, { file, passphrase: await readPassphrase(process.stdin) }),
    ),
  )

  add(
    'import <file>',
    'read an exported company into this installation; reads its passphrase from standard input',
  ).action((file: string, _options: object, command: Command) =>
    run(command, async (deps) => importCompany(deps.move, { file, passphrase: await readPassphrase(process.stdin) })),
  )

  add('release <company>', 'delete a company that was exported, with its files').action(
    (company: string, _options: object, command: Command) =>
      runFor(command, company, (deps, id) => releaseCompany(deps.move, id)),
  )

  add('reopen <company>', 'unlock a company that was exported').action(
    (company: string, _options: object, command: Command) =>
      runFor(command, company, (deps, id) => unlockCompany(deps.move, id)),
  )
}
