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
  const add = addGroup('email-template', 'templates of email: create, list, show, update, remove')
  const create = add('create <company>', 'create an email template', call('POST', TEMPLATES, withFiles))
  for (const [flags, about] of PARTS) create.requiredOption(flags, about)
  withOptional(create)
  add('list <company>', 'list the email templates of a company', call('GET', TEMPLATES), {
    toRow: ({ html: _html, text: _text, ...row }) => row,
  })
  add('show <company> <template>', 'show an email template', call('GET', TEMPLATE))
  const change = 'change an email template; none takes the text part away'
  const update = add('update <company> <template>', change, call('PATCH', TEMPLATE, withFiles))
  for (const [flags, about] of PARTS) update.option(flags, about)
  withOptional(update)
  add('remove <company> <template>', 'remove an email template', call('DELETE', TEMPLATE))
}

const PARTS = [
  ['--name <name>', 'its name'],
  ['--subject <text>', 'the subject, Liquid'],
  ['--html-file <path>', 'file with the HTML, Liquid; - reads standard input'],
] as const

const withOptional = (command: Command): Command =>
  command
    .option('--text-file <path>', 'file with the text part, Liquid; - reads standard input', orNone())
    .option('--category <name>', 'MARKETING needs consent and offers the way out')

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
  const add = addGroup('email-settings', 'how a company sends email: show, set')
  add('show <company>', 'show the sender address and the server of its emails', call('GET', SETTINGS))
  add('set <company>', 'set all of it; what is left out is taken away', call('PUT', SETTINGS))
    .requiredOption('--from <address>', "the sender's address")
    .option('--from-name <name>', "the sender's name", orNone())
    .option('--smtp-url <address>', "the company's own mail server; - reads it from standard input", orNone(toSecret))
}

export function suppressionCommands(addGroup: AddGroup): void {
  const add = addGroup('email-suppression', 'addresses that get no marketing email: list, end')
  const list = call('GET', `${SUPPRESSIONS}?limit=${MOST_SUPPRESSIONS}`)
  add('list <company>', `list ${MOST_SUPPRESSIONS} of them, in alphabetical order`, list).option(
    '--after <address>',
    'the last address of the page before',
  )
  const end = call('DELETE', `${SUPPRESSIONS}/<address>`)
  add('end <company> <address>', 'send marketing email to the address again', end)
}
