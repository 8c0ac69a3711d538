import type { Command } from 'commander'
import { messageOf } from '../../platform/start-error.ts'
import { PROVIDER_NAMES } from '../../providers/provider-names.ts'
import type { SenderRecord } from '../../senders/sender.ts'
import { connectSender, listSenders, type NewSender, removeSender, updateSender } from '../../senders/sender-admin.ts'
import { type OperatorDeps, senderIdNamed } from '../operator.ts'
import { NewSenderBody, SenderChangeBody, toSenderReply } from '../senders/sender-shape.ts'
import {
  commandGroup,
  type OpenOperator,
  type Options,
  parseOptions,
  type Row,
  toNumberOrNone,
  withNone,
  withSecrets,
} from './command.ts'

const REQUIRED = [
  ['--provider <name>', `one of ${PROVIDER_NAMES.join(', ')}`],
  ['--phone-number-id <id>', "the provider's id of the number"],
  ['--waba-account-id <id>', "the provider's id of the business account"],
  ['--access-token <token>', "the provider's credential; - reads it from standard input"],
] as const

const SECRETS = ['accessToken', 'appSecret', 'webhookSecret']
const NULLABLE = [
  'appSecret',
  'webhookSecret',
  'apiBaseUrl',
  'appId',
  'appName',
  'portfolioId',
  'tier',
  'dailyLimit',
  'throughputPerSecond',
]

export function senderCommands(program: Command, open: OpenOperator, stdin: NodeJS.ReadableStream): void {
  const { add, runFor } = commandGroup(program, 'sender', 'connected numbers: connect, list, update, remove', open)

  const connect = add('connect <company>', 'connect a WhatsApp number')
  for (const [flags, means] of REQUIRED) connect.requiredOption(flags, means)
  withOptional(connect).action((company: string, options: Options, command: Command) =>
    runFor(command, company, async (deps, id) => {
      const body = parseOptions(NewSenderBody, await toBody(options, stdin))
      const { connected, checks } = await connectWithChecks(deps, id, body)
      const say = command.configureOutput().writeErr
      for (const check of checks) say?.(`${check}\n`)
      return toReply(deps, connected)
    }),
  )

  add('list <company>', 'list the connected numbers of a company').action(
    (company: string, _options: Options, command: Command) =>
      runFor(
        command,
        company,
        async (deps, id) => (await listSenders(deps.db, id)).map((sender) => toReply(deps, sender)),
        withoutGuide,
      ),
  )

  const update = add('update <company> <channelId>', 'change a connected number; none takes an optional value away')
  for (const [flags, means] of REQUIRED) update.option(flags, means)
  withOptional(update).action((company: string, channelId: string, options: Options, command: Command) =>
    runFor(command, company, async (deps, id) => {
      const body = parseOptions(SenderChangeBody, await toBody(options, stdin))
      return toReply(deps, await updateSender(deps, id, senderIdNamed(channelId), body))
    }),
  )

  add('remove <company> <channelId>', 'disconnect a number').action(
    (company: string, channelId: string, _options: Options, command: Command) =>
      runFor(command, company, (deps, id) => removeSender(deps, id, senderIdNamed(channelId))),
  )
}

const toReply = (deps: OperatorDeps, sender: SenderRecord) => toSenderReply(sender, deps.webhookGuide(sender))

/** Drops the provider setup steps, too wide for a table. */
const withoutGuide = ({ webhookUrl: _url, webhookVerifyToken: _token, webhookSteps: _steps, ...row }: Row): Row => row

const withOptional = (command: Command): Command =>
  command
    .option('--app-secret <secret>', 'refuse events that it did not sign; - reads it from standard input')
    .option('--phone-number <number>', 'telephone number with country code; asked of the provider unless given')
    .option('--phone-name <name>', 'display name of the business; asked of the provider unless given')
    .option('--webhook-secret <secret>', 'refuse events that do not bring it; - reads it from standard input')
    .option('--app-id <id>', 'the app that holds the number, for providers with apps')
    .option('--app-name <name>', "the app's name, by which its template events call it")
    .option('--throughput-per-second <number>', 'messages a second; 80 or 20 unless set', toNumberOrNone)
    .option('--api-base-url <address>', "address to which the provider's paths are added")
    .option('--preferred', 'sends that name no sender use it')
    .option('--tier <number>', "the provider's tier, 1 to 4", toNumberOrNone)
    .option('--marketing-address <place>', 'auto, marketing or messages: where marketing templates go')
    .option('--direct-send', 'the provider has allowed Direct Send to the account')
    .option('--no-direct-send', 'the provider has not')
    .option('--daily-limit <number>', 'customers to be written to first within 24 hours', toNumberOrNone)

async function toBody(options: Options, stdin: NodeJS.ReadableStream): Promise<Options> {
  const { preferred, ...values } = options
  const body = await withSecrets(withNone(values, NULLABLE), SECRETS, stdin)
  return preferred === true ? { ...body, isPreferred: true } : body
}

export function templateCommands(program: Command, open: OpenOperator): void {
  const { add, runFor } = commandGroup(program, 'templates', 'WhatsApp templates of a company: sync', open)

  add('sync <company>', 'read the templates from the providers now').action(
    (company: string, _options: Options, command: Command) =>
      runFor(command, company, async (deps, id) => ({ synced: await deps.syncTemplates(id) })),
  )
}

/** Connects a number and reports each check in one line; a check that could not run includes the provider's message. */
async function connectWithChecks(
  deps: OperatorDeps,
  companyId: number,
  input: NewSender,
): Promise<{ connected: SenderRecord; checks: string[] }> {
  let unchecked: string | undefined
  let templates = 'templates: not read'
  const connected = await connectSender(
    {
      ...deps,
      onUnchecked: (reason) => {
        unchecked = reason
      },
      afterSenderConnected: async () => {
        deps.onEventsStored()
        templates = await deps.syncTemplates(companyId).then(
          (count) => `templates: ${count} read from the provider`,
          (error) => `templates: not read (${messageOf(error)}); they come with the next hourly sync`,
        )
      },
    },
    companyId,
    input,
  )
  return {
    connected,
    checks: [
      unchecked === undefined
        ? `credential: accepted by ${connected.provider}`
        : `credential: NOT CHECKED, ${connected.provider} could not be reached (${unchecked}). The number is connected without checks; give the credential again with parley sender update to check it`,
      `number: ${connected.phoneNumber}, ${connected.phoneName}${input.phoneNumber ? ' (as given)' : ' (from the provider)'}`,
      templates,
      input.appSecret || input.webhookSecret
        ? 'events: only those that prove the secret are taken'
        : 'events: NOT SIGNED, anyone who knows the address can post them; give --app-secret or --webhook-secret',
      ...checkOfToken(deps.webhookGuide(connected).verifyToken),
    ],
  }
}

function checkOfToken(token: string | null | undefined): string[] {
  if (token === undefined) return []
  return token === null
    ? ['verify token: NOT SET, the provider cannot register the webhook; set WHATSAPP_VERIFY_TOKEN and restart']
    : ['verify token: set']
}
