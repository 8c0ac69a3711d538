import type { Command } from 'commander'
import { createCompany, listCompanies } from '../companies/company.ts'
import { commandGroup, type OpenOperator, parseOptions, toNumber } from './command.ts'
import { CompanyChangeBody, NewCompanyBody, toCompanyReply } from './company-shape.ts'
import { changeCompany, closeCompany, companyNamed } from './operator.ts'

const RATE_LIMIT = '--rate-limit-per-minute <number>'
const RATE_LIMIT_MEANS = 'requests per minute that all its keys may make together'

/** `parley company …` */
export function companyCommands(program: Command, open: OpenOperator): void {
  const { add, run } = commandGroup(program, 'company', 'companies: create, list, show, update, remove', open)

  add('create <name>', 'create a company')
    .option(RATE_LIMIT, RATE_LIMIT_MEANS, toNumber)
    .action((name: string, options: object, command: Command) =>
      run(command, async ({ db }) =>
        toCompanyReply(await createCompany(db, parseOptions(NewCompanyBody, { ...options, name }))),
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
    .action((company: string, options: object, command: Command) =>
      run(command, async (deps) => {
        const { id } = await companyNamed(deps.db, company)
        return toCompanyReply(await changeCompany(deps, id, parseOptions(CompanyChangeBody, options)))
      }),
    )

  add('remove <company>', 'remove a company: its keys stop working, its numbers are free, its data stays').action(
    (company: string, _options: object, command: Command) =>
      run(command, async (deps) => {
        const { id } = await companyNamed(deps.db, company)
        await closeCompany(deps, id)
        return { success: true }
      }),
  )
}
