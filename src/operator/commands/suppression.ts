import type { Command } from 'commander'
import { endSuppression } from '../../emails/suppression/suppression.ts'
import { listSuppressions } from '../../emails/suppression/suppression-store.ts'
import { MOST_SUPPRESSIONS, toSuppressionReply } from '../emails/suppression-shape.ts'
import { commandGroup, type OpenOperator } from './command.ts'

export function suppressionCommands(program: Command, open: OpenOperator): void {
  const about = 'addresses that get no marketing email: list, end'
  const { add, runFor } = commandGroup(program, 'email-suppression', about, open)

  add('list <company>', `list ${MOST_SUPPRESSIONS} of them, in alphabetical order`)
    .option('--after <address>', 'the last address of the page before', '')
    .action((company: string, { after }: { after: string }, command: Command) =>
      runFor(command, company, async ({ db }, id) =>
        (await listSuppressions(db, id, { after, limit: MOST_SUPPRESSIONS })).map(toSuppressionReply),
      ),
    )

  add('end <company> <address>', 'send marketing email to the address again').action(
    (company: string, address: string, _options: object, command: Command) =>
      runFor(command, company, async (deps, id) => {
        await endSuppression(deps, id, address)
        return { success: true }
      }),
  )
}
