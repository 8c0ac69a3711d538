import { readFile } from 'node:fs/promises'
import { text as readAll } from 'node:stream/consumers'
import type { Command } from 'commander'
import { getEmailSettings, setEmailSettings } from '../../emails/email-settings.ts'
import {
  createEmailTemplate,
  getEmailTemplate,
  listEmailTemplates,
  removeEmailTemplate,
  updateEmailTemplate,
} from '../../emails/email-template.ts'
import { endSuppression, listSuppressions } from '../../emails/suppression/suppression.ts'
import { badRequest } from '../../platform/errors.ts'
import {
  EmailSettingsBody,
  EmailTemplateChangeBody,
  NewEmailTemplateBody,
  toEmailSettingsReply,
  toEmailTemplateReply,
} from '../emails/email-admin-shape.ts'
import { MOST_SUPPRESSIONS, toSuppressionReply } from '../emails/suppression-shape.ts'
import { commandGroup, type OpenOperator, type Options, parseOptions, withNone, withSecrets } from './command.ts'

export function emailTemplateCommands(program: Command, open: OpenOperator, stdin: NodeJS.ReadableStream): void {
  const about = 'templates of email: create, list, show, update, remove'
  const { add, runFor } = commandGroup(program, 'email-template', about, open)

  const create = add('create <company>', 'create an email template')
    .requiredOption('--name <name>', 'its name')
    .requiredOption('--subject <text>', 'the subject, Liquid')
    .requiredOption('--html-file <path>', 'file with the HTML, Liquid; - reads standard input')
  withOptional(create).action((company: string, options: Options, command: Command) =>
    runFor(command, company, async ({ db }, id) => {
      const body = parseOptions(NewEmailTemplateBody, await toBody(options, stdin))
      return toEmailTemplateReply(await createEmailTemplate(db, id, body))
    }),
  )

  add('list <company>', 'list the email templates of a company').action(
    (company: string, _options: Options, command: Command) =>
      runFor(command, company, async ({ db }, id) => {
        const templates = await listEmailTemplates(db, id)
        return templates.map(toEmailTemplateReply).map(({ html: _html, text: _text, ...shown }) => shown)
      }),
  )

  add('show <company> <template>', 'show an email template').action(
    (company: string, template: string, _options: Options, command: Command) =>
      runFor(command, company, async ({ db }, id) => toEmailTemplateReply(await getEmailTemplate(db, id, template))),
  )

  const update = add('update <company> <template>', 'change an email template; none takes the text part away')
    .option('--name <name>', 'its name')
    .option('--subject <text>', 'the subject, Liquid')
    .option('--html-file <path>', 'file with the HTML, Liquid; - reads standard input')
  withOptional(update).action((company: string, template: string, options: Options, command: Command) =>
    runFor(command, company, async ({ db }, id) => {
      const body = parseOptions(EmailTemplateChangeBody, await toBody(options, stdin))
      return toEmailTemplateReply(await updateEmailTemplate(db, id, template, body))
    }),
  )

  add('remove <company> <template>', 'remove an email template').action(
    (company: string, template: string, _options: Options, command: Command) =>
      runFor(command, company, ({ db }, id) => removeEmailTemplate(db, id, template)),
  )
}

const withOptional = (command: Command): Command =>
  command
    .option('--text-file <path>', 'file with the text part, Liquid; - reads standard input')
    .option('--category <name>', 'MARKETING needs consent and offers the way out')

async function toBody(options: Options, stdin: NodeJS.ReadableStream): Promise<Options> {
  const { htmlFile, textFile, ...rest } = options
  return {
    ...rest,
    ...(typeof htmlFile === 'string' && { html: await readPart(htmlFile, stdin) }),
    ...(typeof textFile === 'string' && { text: textFile === 'none' ? null : await readPart(textFile, stdin) }),
  }
}

const readPart = (path: string, stdin: NodeJS.ReadableStream): Promise<string> =>
  path === '-'
    ? readAll(stdin)
    : readFile(path, 'utf8').catch(() => {
        throw badRequest(`The file ${path} cannot be read`)
      })

const NULLABLE = ['fromName', 'smtpUrl']

export function emailSettingsCommands(program: Command, open: OpenOperator, stdin: NodeJS.ReadableStream): void {
  const { add, runFor } = commandGroup(program, 'email-settings', 'how a company sends email: show, set', open)

  add('show <company>', 'show the sender address and the server of its emails').action(
    (company: string, _options: Options, command: Command) =>
      runFor(command, company, async (deps, id) => toEmailSettingsReply(await getEmailSettings(deps, id))),
  )

  add('set <company>', 'set all of it; what is left out is taken away')
    .requiredOption('--from <address>', "the sender's address")
    .option('--from-name <name>', "the sender's name")
    .option('--smtp-url <address>', "the company's own mail server; - reads it from standard input")
    .action((company: string, options: Options, command: Command) =>
      runFor(command, company, async (deps, id) => {
        const input = await withSecrets(withNone(options, NULLABLE), ['smtpUrl'], stdin)
        const { from, fromName = null, smtpUrl = null } = parseOptions(EmailSettingsBody, input)
        return toEmailSettingsReply(await setEmailSettings(deps, id, { from, fromName, smtpUrl }))
      }),
    )
}

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
      runFor(command, company, (deps, id) => endSuppression(deps, id, address)),
  )
}
