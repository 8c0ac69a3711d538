import type { Command } from 'commander'
import type { OpenOperator } from './command.ts'
import { companyCommands } from './company.ts'
import { consoleCommands } from './console.ts'
import { contactCommands } from './contact.ts'
import { emailSettingsCommands, emailTemplateCommands } from './email.ts'
import { eventCommands } from './event.ts'
import { jobCommands } from './job.ts'
import { keyCommands } from './key.ts'
import { mediaCommands } from './media.ts'
import { secretCommands } from './secret.ts'
import { senderCommands, templateCommands } from './sender.ts'
import { suppressionCommands } from './suppression.ts'

/**
 * The operator's verbs on the command line (decisions: The operator's side), on the database directly. Results go to
 * standard output, as an aligned table or with `--json` as the API answers them; an error is one line on standard
 * error, with exit code 1.
 */
export function operatorCommands(
  program: Command,
  open: OpenOperator,
  {
    stdin = process.stdin,
    isTerminal = process.stderr.isTTY,
  }: { stdin?: NodeJS.ReadableStream; isTerminal?: boolean } = {},
): void {
  companyCommands(program, open)
  keyCommands(program, open)
  consoleCommands(program, open)
  senderCommands(program, open, stdin)
  templateCommands(program, open)
  contactCommands(program, open, isTerminal)
  emailTemplateCommands(program, open, stdin)
  emailSettingsCommands(program, open, stdin)
  suppressionCommands(program, open)
  eventCommands(program, open)
  jobCommands(program, open)
  mediaCommands(program, open)
  secretCommands(program, open)
}
