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
  const change = 'change a connected number; none takes an optional value away'
  const update = add('update <company> <channelId>', change, call('PATCH', SENDER, toBody))
  for (const [flags, about, parse] of REQUIRED) update.option(flags, about, parse)
  withOptional(update)
  add('remove <company> <channelId>', 'disconnect a number', call('DELETE', SENDER))
}

export function templateCommands(addGroup: AddGroup): void {
  const add = addGroup('templates', 'WhatsApp templates of a company: sync')
  const sync = call('POST', '/companies/<company>/templates/sync')
  add('sync <company>', 'read the templates from the providers now', sync)
}

const REQUIRED = [
  ['--provider <name>', `one of ${PROVIDER_NAMES.join(', ')}`, String],
  ['--phone-number-id <id>', "the provider's id of the number", String],
  ['--waba-account-id <id>', "the provider's id of the business account", String],
  ['--access-token <token>', "the provider's credential; - reads it from standard input", toSecret],
] as const

const withOptional = (command: Command): Command =>
  command
    .option(
      '--app-secret <secret>',
      'refuse events that it did not sign; - reads it from standard input',
      orNone(toSecret),
    )
    .option('--phone-number <number>', 'telephone number with country code; asked of the provider unless given')
    .option('--phone-name <name>', 'display name of the business; asked of the provider unless given')
    .option(
      '--webhook-secret <secret>',
      'refuse events that do not bring it; - reads it from standard input',
      orNone(toSecret),
    )
    .option('--app-id <id>', 'the app that holds the number, for providers with apps', orNone())
    .option('--app-name <name>', "the app's name, by which its template events call it", orNone())
    .option('--throughput-per-second <number>', 'messages a second; 80 or 20 unless set', orNone(toNumber))
    .option('--api-base-url <address>', "address to which the provider's paths are added", orNone())
    .option('--preferred', 'sends that name no sender use it')
    .option('--tier <number>', "the provider's tier, 1 to 4", orNone(toNumber))
    .option('--marketing-address <place>', 'auto, marketing or messages: where marketing templates go')
    .option('--direct-send', 'the provider has allowed Direct Send to the account')
    .option('--no-direct-send', 'the provider has not')
    .option('--daily-limit <number>', 'customers to be written to first within 24 hours', orNone(toNumber))

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
