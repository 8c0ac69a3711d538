import { type Command, Option } from 'commander'
import { ROLES } from '../../http/admission/role.ts'
import { notFound } from '../../platform/errors.ts'
import { checkSecrets, resealSecrets } from '../../secrets/secret-store.ts'
import { companyIdNamed } from '../operator.ts'
import { type AddGroup, type CommandWork, call, commandGroups, type OpenOperator, type Terminal } from './command.ts'
import { companyCommands } from './company.ts'
import { contactCommands } from './contact.ts'
import { emailSettingsCommands, emailTemplateCommands, suppressionCommands } from './email.ts'
import { eventCommands } from './event.ts'
import { keyCommands } from './key.ts'
import { senderCommands, templateCommands } from './sender.ts'

const GROUPS = [
  companyCommands,
  keyCommands,
  consoleCommands,
  senderCommands,
  templateCommands,
  contactCommands,
  emailTemplateCommands,
  emailSettingsCommands,
  suppressionCommands,
  eventCommands,
  jobCommands,
  mediaCommands,
  secretCommands,
]

/**
 * Registers the operator's commands (decisions: The operator's side). Results go to stdout as a table or JSON; errors
 * are one line on stderr, with exit code 1.
 */
export function operatorCommands(
  program: Command,
  open: OpenOperator,
  { stdin = process.stdin, isTerminal = process.stderr.isTTY }: Partial<Terminal> = {},
): void {
  const addGroup = commandGroups(program, open, { stdin, isTerminal })
  for (const addCommands of GROUPS) addCommands(addGroup)
}

function consoleCommands(addGroup: AddGroup): void {
  const add = addGroup('console', 'web console: link')
  add(
    'link [company]',
    'create a one-time sign-in link to a company, or for the operator; expires in an hour',
    createLink,
  )
    .option('--name <name>', "person's name", 'Operator')
    .addOption(new Option('--role <role>', 'session role in a company').choices(ROLES).default('agent'))
}

const createLink: CommandWork = async ({ db, createConsoleLink }, { company, name, role }) => {
  if (createConsoleLink === undefined) throw notFound('The console is off')
  const companyId = company === undefined ? null : await companyIdNamed(db, String(company))
  const chosen = ROLES.find((one) => one === role) ?? 'agent'
  return { url: await createConsoleLink(companyId, { name: String(name), role: chosen }) }
}

function jobCommands(addGroup: AddGroup): void {
  const add = addGroup('jobs', 'background jobs: failed, retry')
  add('failed', 'list failed jobs, each with its last error', call('GET', '/failed-jobs'))
  const retry = call('POST', ({ company }) => `/failed-jobs/<job>/retry${company ? '?companyId=<company>' : ''}`)
  const company = 'company of the job, required if several have a failed job with this id'
  add('retry <job>', 'retry a failed job', retry).option('--company <id>', company)
}

function mediaCommands(addGroup: AddGroup): void {
  const add = addGroup('media', 'media files: copy')
  const copy: CommandWork = ({ copyMedia }, { to }) => copyMedia(to === undefined ? to : String(to))
  const to = 'https://HOST/BUCKET or file:///PATH; by default the configured storage'
  add('copy', 'copy all files to another storage; can be repeated', copy).option('--to <url>', to)
}

function secretCommands(addGroup: AddGroup): void {
  const add = addGroup('secrets', 'stored secrets: reseal')
  add('reseal', 'encrypt all secrets with the first key of ENCRYPTION_KEY', async ({ db, cipher }) => {
    await checkSecrets(db, cipher)
    return { resealed: await resealSecrets(db, cipher) }
  })
}
