import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ADMIN_TOKEN } from './api.ts'
import { DEMO_ACCOUNT, eventually, startTestService, VERIFY_TOKEN } from './service.ts'

const run = promisify(execFile)
const hasCurl = await run('curl', ['--version']).then(
  () => true,
  () => false,
)
const FILE = new URL('../examples/curl.sh', import.meta.url)

/** The operations that do not answer 2xx here, each with its answer and the reason. */
const ANSWERS: Record<string, number> = {
  // The variables name records that only a fault or a file of the provider makes.
  getMedia: 404,
  getFailedEvent: 404,
  retryFailedEvent: 404,
  retryFailedJob: 404,
  redeliver: 404,
  getDelivery: 404,
  // The variable names a key with all permissions, which has no limits of its own.
  changeApiKey: 422,
  // The provider calls it, with the token that the operator set.
  verifyProviderWebhook: 403,
}
/** Commands that change or remove what others need run last, in this order. */
const LAST = [
  'connectSender',
  'updateRegistration',
  'cancelImport',
  'removeRegistration',
  'deleteContact',
  'removeEmailTemplate',
  'removeSender',
  'revokeApiKey',
  'removeCompany',
]

type Operation = { operationId: string; deprecated?: boolean }
type Command = { operationId: string; text: string }

async function readCommands(): Promise<Command[]> {
  const blocks = (await readFile(FILE, 'utf8')).split('\n\n').filter((block) => block.includes('\ncurl '))
  const commands = blocks.map((text) => ({ operationId: /\((\w+)\)\n/.exec(text)?.[1] ?? '', text }))
  return commands.toSorted((one, other) => LAST.indexOf(one.operationId) - LAST.indexOf(other.operationId))
}

/** Runs a command as it stands in the file; returns the status and the body of the answer. */
async function execute(command: Command, variables: Record<string, string>) {
  // The live stream has no end: its status is what counts.
  const script = `curl() { command curl -m 5 -w '\\n%{http_code}' "$@" || [ $? = 28 ]; }\n${command.text}`
  const { stdout } = await run('bash', ['-euc', script], { env: { PATH: process.env.PATH ?? '', ...variables } })
  const end = stdout.lastIndexOf('\n')
  return { status: Number(stdout.slice(end + 1)), body: stdout.slice(0, end) }
}

test.skipIf(!hasCurl)('every command of examples/curl.sh does what it says', { timeout: 300_000 }, async () => {
  const service = await startTestService()
  const variables = await prepare(service)
  const wrong: string[] = []
  const commands = await readCommands()
  const documented = await service.call(service.url, 'GET', '/openapi.json')
  const operations = Object.values<Record<string, Operation>>(documented.body.paths).flatMap(Object.values<Operation>)
  const current = operations.filter(({ deprecated }) => deprecated !== true)
  expect(commands.map(({ operationId }) => operationId).sort()).toEqual(
    current.map(({ operationId }) => operationId).sort(),
  )
  for (const command of commands) {
    const { status, body } = await execute(command, variables)
    const expected = ANSWERS[command.operationId]
    if (expected === undefined ? status >= 300 : status !== expected) wrong.push(`${command.text}\n${status} ${body}`)
  }
  expect(wrong.join('\n\n')).toBe('')
})

/** A company with one record of each kind; their ids by the names of the variables. */
async function prepare({
  url,
  createCompany,
  call,
  control,
  operator,
  db,
}: Awaited<ReturnType<typeof startTestService>>) {
  const { companyId, key, sender, api, phoneNumberId } = await createCompany()
  const company = `/companies/${companyId}`
  await operator('PUT', `${company}/email-settings`, { from: 'orders@shop.example.com', fromName: null, smtpUrl: null })
  await control('POST', '/inbound', { phoneNumberId, from: '393331234567', type: 'text', text: { body: 'Hello' } })
  const conversations = await eventually(async () => {
    const { body } = await api('GET', '/whatsapp/conversations')
    return body.data.length > 0 && body.data
  })
  const contact = await api('POST', '/contacts', { email: 'ada.rossi@example.com' })
  const field = { key: 'LOYALTY_TIER', displayName: 'Tier', category: 'LOYALTY', type: 'string' }
  await api('POST', '/custom-fields', field)
  const { body: list } = await api('POST', '/contacts/import', 'email\r\nada@example.com\r\n', {
    'content-type': 'text/csv',
  })
  const registration = await api('POST', '/webhooks/registrations', {
    name: 'Order desk',
    url: 'https://shop.example.com/hooks',
    events: ['whatsapp.message.received'],
  })
  const template = await operator('POST', `${company}/email-templates`, {
    name: 'order_update',
    subject: 'Order {{ order }}',
    html: '<p>{{ order }}</p>',
  })
  const email = await api('POST', '/emails', { to: 'ada@example.com', subject: 'Hi', html: '<p>Hi</p>' })
  const unroutable = {
    object: 'whatsapp_business_account',
    entry: [
      {
        id: DEMO_ACCOUNT,
        changes: [
          {
            field: 'messages',
            value: {
              messaging_product: 'whatsapp',
              metadata: { display_phone_number: '1', phone_number_id: '999' },
              messages: [
                { from: '393330000000', id: 'wamid.X', timestamp: '1760000000', type: 'text', text: { body: 'x' } },
              ],
            },
          },
        ],
      },
    ],
  }
  await call(url, 'POST', '/public/v1/webhooks/whatsapp', unroutable)
  const [message] = await db<[{ id: number }]>`select id from messages where company_id = ${companyId} limit 1`
  await db`update email_templates set uid = 'tmpl_8d41f0c2a96b' where company_id = ${companyId}`
  return {
    FROM: '2026-11-01',
    TO: '2026-11-30',
    PARLEY_URL: url,
    PARLEY_KEY: key.token,
    ADMIN_TOKEN,
    COMPANY_ID: String(companyId),
    CHANNEL_ID: String(sender.channelId),
    CLIENT_ID: key.clientId,
    CHAT_ID: String(conversations[0].chatId),
    CONTACT_ID: String(contact.body.data[0].id),
    EMAIL: 'ada.rossi@example.com',
    IMPORT_ID: String(list.data.id),
    REGISTRATION_ID: String(registration.body.id),
    DELIVERY_ATTEMPT_ID: '1',
    DELIVERY_ID: '1',
    MESSAGE_ID: String(message.id),
    TEMPLATE_ID: 'tmpl_8d41f0c2a96b',
    TRANSACTIONAL_ID: String(template.body.transactionalId),
    EMAIL_ID: email.body.data.id,
    EVENT_ID: '1',
    JOB_ID: '1',
    SECRET: 'secret-of-a-number',
    TOKEN: 'token-of-a-file',
    HUB_VERIFY_TOKEN: VERIFY_TOKEN,
  }
}
