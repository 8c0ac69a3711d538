import type { Command } from 'commander'
import { messageOf } from '../../platform/start-error.ts'
import { PROVIDER_NAMES } from '../../providers/provider-names.ts'
import type { SenderRecord } from '../../senders/sender.ts'
import type { OperatorDeps } from '../operator.ts'
import { type AddGroup, call, type Given, type Io, type Row } from './command.ts'
import { orNone, toNumber, toSecret } from './option.ts'

const SENDERS = '/companies/<company>/senders'
const SENDER = `${SENDERS}/<channelId>`

export function senderCommands(addGroup: AddGroup): void {
  const add = addGroup('sender', 'connected numbers: connect, list, update, remove')
  const connect = add('connect <company>', 'connect a WhatsApp number', connectWithChecks)
  for (const [flags, about, parse] of REQUIRED) connect.requiredOption(flags, about, parse)
  withOptional(connect)
  add('list <company>', 'list the connected numbers of a company', call('GET', SENDERS), {
    // Too wide for a table.
    toTableRow: ({ webhookUrl: _url, webhookVerifyToken: _token, webhookSteps: _steps, ...row }) => row,
  })
  const about = 'update a connected number; none removes an optional value'
  const update = add('update <company> <channelId>', about, call('PATCH', SENDER, toBody))
  for (const [flags, about, parse] of REQUIRED) update.option(flags, about, parse)
  withOptional(update)
  add('remove <company> <channelId>', 'disconnect a number', call('DELETE', SENDER))
}

export function templateCommands(addGroup: AddGroup): void {
  const add = addGroup('templates', 'WhatsApp templates of a company: sync')
  add('sync <company>', 'sync templates from the providers', call('POST', '/companies/<company>/templates/sync'))
}

const REQUIRED = [
  ['--provider <name>', `one of ${PROVIDER_NAMES.join(', ')}`, String],
  ['--phone-number-id <id>', "the number's id at the provider", String],
  ['--waba-account-id <id>', "the business account's id at the provider", String],
  ['--access-token <token>', 'provider credential; - reads it from stdin', toSecret],
] as const

const withOptional = (command: Command): Command =>
  command
    .option('--app-secret <secret>', 'refuse events without its signature; - reads it from stdin', orNone(toSecret))
    .option('--phone-number <number>', 'phone number with country code; by default from the provider')
    .option('--phone-name <name>', 'display name of the business; by default from the provider')
    .option('--webhook-secret <secret>', 'refuse events without it; - reads it from stdin', orNone(toSecret))
    .option('--app-id <id>', 'app with the number, for providers with apps', orNone())
    .option('--app-name <name>', 'app name, as contained in template events', orNone())
    .option('--throughput-per-second <number>', 'messages per second; by default 80 or 20', orNone(toNumber))
    .option('--api-base-url <address>', 'base URL for provider calls', orNone())
    .option('--preferred', 'use the number for sends without sender')
    .option('--tier <number>', 'provider tier, 1 to 4', orNone(toNumber))
    .option('--marketing-address <place>', 'auto, marketing or messages: where to send marketing templates')
    .option('--direct-send', 'the provider has enabled Direct Send for the account')
    .option('--no-direct-send', 'it has not')
    .option('--daily-limit <number>', 'customers to write to first within 24 hours', orNone(toNumber))

const toBody = ({ preferred, ...body }: Given): Given => ({ ...body, isPreferred: preferred })

/** Connects a number and reports each check in one line; a check that could not run includes the provider's message. */
async function connectWithChecks(deps: OperatorDeps, given: Given, io: Io): Promise<Row | Row[]> {
  const seen: { sender?: SenderRecord; unchecked?: string; templates: string } = { templates: 'not read' }
  const observed: OperatorDeps = {
    ...deps,
    onUnchecked: (reason) => {
      seen.unchecked = reason
    },
    onSenderConnected: async (tx, companyId, sender) => {
      seen.sender = sender
      await deps.onSenderConnected(tx, companyId, sender)
    },
    afterSenderConnected: async (companyId) => {
      deps.onEventsStored()
      seen.templates = await deps.syncTemplates(companyId).then(
        (count) => `${count} read from the provider`,
        (error) => `not read (${messageOf(error)}); they come with the next hourly sync`,
      )
    },
  }
  const connected = await call('POST', SENDERS, toBody)(observed, given, io)
  const { sender, unchecked, templates } = seen
  if (sender === undefined) return connected
  io.write(`${credentialCheck(sender, unchecked)}\n`)
  const source = given.phoneNumber ? '(as given)' : '(from the provider)'
  io.write(`number: ${sender.phoneNumber}, ${sender.phoneName} ${source}\n`)
  io.write(`templates: ${templates}\n`)
  io.write(given.appSecret || given.webhookSecret ? SIGNED : NOT_SIGNED)
  const { verifyToken } = deps.webhookGuide(sender)
  if (verifyToken !== undefined) io.write(verifyToken === null ? NO_VERIFY_TOKEN : 'verify token: set\n')
  return connected
}

const credentialCheck = ({ provider }: SenderRecord, unchecked: string | undefined): string =>
  unchecked === undefined
    ? `credential: accepted by ${provider}`
    : `credential: NOT CHECKED, ${provider} could not be reached (${unchecked}). The number is connected without checks; give the credential again with parley sender update to check it`

const SIGNED = 'events: only those that prove the secret are taken\n'
const NOT_SIGNED =
  'events: NOT SIGNED, anyone who knows the address can post them; give --app-secret or --webhook-secret\n'
const NO_VERIFY_TOKEN =
  'verify token: NOT SET, the provider cannot register the webhook; set WHATSAPP_VERIFY_TOKEN and restart\n'
