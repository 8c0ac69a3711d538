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
  const add = addGroup('console', 'the web console: sign-in links')
  const about = 'create a link that signs in once, within an hour: to a company, or as the operator'
  add('link [company]', about, createLink)
    .option('--name <name>', 'the name of the person', 'Operator')
    .addOption(new Option('--role <role>', 'what the session of a company may do').choices(ROLES).default('agent'))
}

const createLink: CommandWork = async ({ db, createConsoleLink }, { company, name, role }) => {
  if (createConsoleLink === undefined) throw notFound('The console is off')
  const companyId = company === undefined ? null : await companyIdNamed(db, String(company))
  const chosen = ROLES.find((one) => one === role) ?? 'agent'
  return { url: await createConsoleLink(companyId, { name: String(name), role: chosen }) }
}

function jobCommands(addGroup: AddGroup): void {
  const add = addGroup('jobs', 'background work that was given up: failed, retry')
  add('failed', 'list it, with its last error', call('GET', '/failed-jobs'))
  const retry = '/failed-jobs/<job>/retry'
  add(
    'retry <job>',
    'try it once more',
    call('POST', ({ company }) => (company ? `${retry}?companyId=<company>` : retry)),
  ).option('--company <id>', 'its company, where several have a failed job with this id')
}

function mediaCommands(addGroup: AddGroup): void {
  const add = addGroup('media', 'files of messages, uploads and lists: copy')
  const about = 'copy all files to another place while the service runs; can be run again'
  add('copy', about, ({ copyMedia }, { to }) => copyMedia(to === undefined ? to : String(to))).option(
    '--to <url>',
    'a bucket, https://HOST/BUCKET, or a folder, file:///PATH; by default the place that is set',
  )
}

function secretCommands(addGroup: AddGroup): void {
  const add = addGroup('secrets', 'stored secrets: reseal')
  add('reseal', 'encrypt all of them with the first key of ENCRYPTION_KEY', async ({ db, cipher }) => {
    await checkSecrets(db, cipher)
    return { resealed: await resealSecrets(db, cipher) }
  })
}
