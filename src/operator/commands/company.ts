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

const RATE_LIMIT = '--rate-limit-per-minute <number>'
const RATE_LIMIT_MEANS = 'requests per minute that all its keys may make together'
const READ_RECEIPTS = '--read-receipts <on|off>'
const DEFAULT_COUNTRY = '--default-country <code>'
const DEFAULT_COUNTRY_MEANS = 'country of phone numbers without + or 00, such as IT; none: they have their country code'
const REGISTRATION_LIMIT = '--registration-limit <number>'
const REGISTRATION_LIMIT_MEANS = 'webhook registrations that it may have'
const SESSION_RATE_LIMIT = '--session-rate-limit-per-minute <number>'
const SESSION_RATE_LIMIT_MEANS = 'requests per minute that all its console sessions may make together'
const AGENTS_MAY_ERASE = '--agents-may-erase <on|off>'
const AGENTS_MAY_ERASE_MEANS = 'whether console sessions with the role agent may erase contacts'
const READ_RECEIPTS_MEANS = 'whether the console shows customers that an agent reads and writes'

export function companyCommands(program: Command, open: OpenOperator): void {
  const about = 'companies: create, list, show, update, remove, move'
  const { add, run, runFor } = commandGroup(program, 'company', about, open)

  add('create <name>', 'create a company')
    .option(RATE_LIMIT, RATE_LIMIT_MEANS, toNumber)
    .option(READ_RECEIPTS, READ_RECEIPTS_MEANS, toSwitch)
    .option(DEFAULT_COUNTRY, DEFAULT_COUNTRY_MEANS, toCountry)
    .option(REGISTRATION_LIMIT, REGISTRATION_LIMIT_MEANS, toNumber)
    .option(SESSION_RATE_LIMIT, SESSION_RATE_LIMIT_MEANS, toNumber)
    .option(AGENTS_MAY_ERASE, AGENTS_MAY_ERASE_MEANS, toSwitch)
    .action((name: string, options: object, command: Command) =>
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

  add('update <company>', 'change a company')
    .option('--name <name>', 'its name')
    .option(RATE_LIMIT, RATE_LIMIT_MEANS, toNumber)
    .option(READ_RECEIPTS, READ_RECEIPTS_MEANS, toSwitch)
    .option(DEFAULT_COUNTRY, DEFAULT_COUNTRY_MEANS, toCountry)
    .option(REGISTRATION_LIMIT, REGISTRATION_LIMIT_MEANS, toNumber)
    .option(SESSION_RATE_LIMIT, SESSION_RATE_LIMIT_MEANS, toNumber)
    .option(AGENTS_MAY_ERASE, AGENTS_MAY_ERASE_MEANS, toSwitch)
    .action((company: string, options: object, command: Command) =>
      runFor(command, company, async (deps, id) =>
        toCompanyReply(
          await changeCompany(deps, id, parseOptions(CompanyChangeBody, withNone({ ...options }, ['defaultCountry']))),
        ),
      ),
    )

  add('remove <company>', 'remove a company: its keys stop working, its numbers are free, its data stays').action(
    (company: string, _options: object, command: Command) =>
      runFor(command, company, async (deps, id) => {
        await removeCompany(deps, id)
        return { success: true }
      }),
  )

  moveCommands({ add, run, runFor })
}

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
      runFor(command, company, async (deps, id) => {
        await releaseCompany(deps.move, id)
        return { success: true }
      }),
  )

  add('reopen <company>', 'unlock a company that was exported').action(
    (company: string, _options: object, command: Command) =>
      runFor(command, company, async (deps, id) => {
        await unlockCompany(deps.move, id)
        return { success: true }
      }),
  )
}
