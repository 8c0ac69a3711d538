import { type Command, Option } from 'commander'
import { ROLES, type SessionRole } from '../../http/admission/role.ts'
import { notFound } from '../../platform/errors.ts'
import { checkSecrets, resealSecrets } from '../../secrets/secret-store.ts'
import { companyNamed, failedJobs, retryFailedJob } from '../operator.ts'
import { toJobReply } from '../queues/job-shape.ts'
import { commandGroup, type OpenOperator } from './command.ts'
import { companyCommands } from './company.ts'
import { contactCommands } from './contact.ts'
import { emailSettingsCommands, emailTemplateCommands, suppressionCommands } from './email.ts'
import { eventCommands } from './event.ts'
import { keyCommands } from './key.ts'
import { senderCommands, templateCommands } from './sender.ts'

/**
 * Registers the operator's commands (decisions: The operator's side). Results go to stdout as a table or JSON; errors
 * are one line on stderr, with exit code 1.
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

function consoleCommands(program: Command, open: OpenOperator): void {
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

function jobCommands(program: Command, open: OpenOperator): void {
  const { add, run } = commandGroup(program, 'jobs', 'background work that was given up: failed, retry', open)

  add('failed', 'list it, with its last error').action((_options: object, command: Command) =>
    run(command, async ({ db }) => (await failedJobs(db)).map(toJobReply)),
  )

  add('retry <job>', 'try it once more')
    .option('--company <id>', 'its company, where several have a failed job with this id')
    .action((job: string, { company }: { company?: string }, command: Command) =>
      run(command, (deps) => retryFailedJob(deps, job, company)),
    )
}

function mediaCommands(program: Command, open: OpenOperator): void {
  const { add, run } = commandGroup(program, 'media', 'files of messages, uploads and lists: copy', open)

  add('copy', 'copy all files to another place while the service runs; can be run again')
    .option('--to <url>', 'a bucket, https://HOST/BUCKET, or a folder, file:///PATH; by default the place that is set')
    .action(({ to }: { to?: string }, command: Command) => run(command, async ({ copyMedia }) => await copyMedia(to)))
}

function secretCommands(program: Command, open: OpenOperator): void {
  const { add, run } = commandGroup(program, 'secrets', 'stored secrets: reseal', open)

  add('reseal', 'encrypt all of them with the first key of ENCRYPTION_KEY').action(
    (_options: object, command: Command) =>
      run(command, async ({ db, cipher }) => {
        await checkSecrets(db, cipher)
        return { resealed: await resealSecrets(db, cipher) }
      }),
  )
}
