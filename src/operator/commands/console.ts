import { type Command, Option } from 'commander'
import { ROLES, type SessionRole } from '../../http/admission/role.ts'
import { notFound } from '../../platform/errors.ts'
import { companyNamed } from '../operator.ts'
import { commandGroup, type OpenOperator } from './command.ts'

/** `parley console …` */
export function consoleCommands(program: Command, open: OpenOperator): void {
  const { add, run } = commandGroup(program, 'console', 'the web console: sign-in links', open)

  add('link [company]', 'create a link that signs in once, within an hour: to a company, or as the operator')
    .option('--name <name>', 'the name of the person', 'Operator')
    .addOption(new Option('--role <role>', 'what the session of a company may do').choices(ROLES).default('agent'))
    .action((company: string | undefined, link: { name: string; role: SessionRole }, command: Command) =>
      run(command, async ({ db, createConsoleLink }) => {
        if (createConsoleLink === undefined) throw notFound('The console is off')
        return {
          url: await createConsoleLink(company === undefined ? null : (await companyNamed(db, company)).id, link),
        }
      }),
    )
}
