import { readFile } from 'node:fs/promises'
import { text as readAll } from 'node:stream/consumers'
import type { Command } from 'commander'
import { badRequest } from '../../platform/errors.ts'
import { MOST_SUPPRESSIONS } from '../emails/suppression-shape.ts'
import { type AddGroup, call, type Given, type Io } from './command.ts'
import { orNone, toSecret } from './option.ts'

const TEMPLATES = '/companies/<company>/email-templates'
const TEMPLATE = `${TEMPLATES}/<template>`
const SETTINGS = '/companies/<company>/email-settings'
const SUPPRESSIONS = '/companies/<company>/email-suppressions'

export function emailTemplateCommands(addGroup: AddGroup): void {
  const add = addGroup('email-template', 'email templates: create, list, show, update, remove')
  const create = add('create <company>', 'create an email template', call('POST', TEMPLATES, withFiles))
  for (const [flags, about] of PARTS) create.requiredOption(flags, about)
  withOptional(create)
  add('list <company>', 'list the email templates of a company', call('GET', TEMPLATES), {
    toRow: ({ html: _html, text: _text, ...row }) => row,
  })
  add('show <company> <template>', 'show an email template', call('GET', TEMPLATE))
  const update = add('update <company> <template>', 'update an email template', call('PATCH', TEMPLATE, withFiles))
  for (const [flags, about] of PARTS) update.option(flags, about)
  withOptional(update)
  add('remove <company> <template>', 'remove an email template', call('DELETE', TEMPLATE))
}

const PARTS = [
  ['--name <name>', 'template name'],
  ['--subject <text>', 'subject as Liquid'],
  ['--html-file <path>', 'file with the HTML as Liquid; - reads stdin'],
] as const

const withOptional = (command: Command): Command =>
  command
    .option('--text-file <path>', 'file with the plain text as Liquid; - reads stdin, none removes it', orNone())
    .option('--category <name>', 'TRANSACTIONAL or MARKETING, which needs consent and an unsubscribe link')

async function withFiles({ htmlFile, textFile, ...body }: Given, { stdin }: Io): Promise<Given> {
  return { ...body, html: await readPart(htmlFile, stdin), text: await readPart(textFile, stdin) }
}

/** Returns null and undefined as they are. */
async function readPart(path: unknown, stdin: NodeJS.ReadableStream): Promise<unknown> {
  if (typeof path !== 'string') return path
  if (path === '-') return readAll(stdin)
  return readFile(path, 'utf8').catch(() => {
    throw badRequest(`The file ${path} cannot be read`)
  })
}

export function emailSettingsCommands(addGroup: AddGroup): void {
  const add = addGroup('email-settings', 'email settings of a company: show, set')
  add('show <company>', 'show sender address and mail server', call('GET', SETTINGS))
  add('set <company>', 'replace all settings; omitted ones are removed', call('PUT', SETTINGS))
    .requiredOption('--from <address>', 'sender address')
    .option('--from-name <name>', 'sender name', orNone())
    .option('--smtp-url <address>', 'mail server of the company; - reads it from stdin', orNone(toSecret))
}

export function suppressionCommands(addGroup: AddGroup): void {
  const add = addGroup('email-suppression', 'suppressed email addresses: list, end')
  const list = call('GET', `${SUPPRESSIONS}?limit=${MOST_SUPPRESSIONS}`)
  add('list <company>', `list ${MOST_SUPPRESSIONS} addresses, in alphabetical order`, list).option(
    '--after <address>',
    'last address of the previous page',
  )
  const end = call('DELETE', `${SUPPRESSIONS}/<address>`)
  add('end <company> <address>', 'resume marketing email to an address', end)
}
