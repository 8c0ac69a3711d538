import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createApiKey, listApiKeys } from '../companies/api-key.ts'
import { createCompany, listCompanies } from '../companies/company.ts'
import { hasWrittenSince } from '../conversations/conversation-store.ts'
import { getEmailSettings, setEmailSettings } from '../emails/email-settings.ts'
import { createEmailTemplate, listEmailTemplates } from '../emails/email-template.ts'
import { isLoopback } from '../http/server/request-head.ts'
import type { Config } from '../platform/settings/config.ts'
import { DEFAULT_PROVIDER } from '../providers/provider-name.ts'
import { connectSender, listSenders, updateSender } from '../senders/sender-admin.ts'
import {
  createRegistration,
  listCompanyRegistrations,
  updateRegistration,
} from '../webhooks/registrations/registration.ts'
import type { OperatorDeps } from './operator.ts'

/** Demo data; must match the sandbox's number and account. */
const NUMBER = { phoneNumber: '+44 7700 900100', phoneName: 'Parley Demo', phoneNumberId: '100000000000001' }
const DEMO_NAME = 'Demo'
const ACCOUNT = '200000000000001'
const DEMO_CUSTOMER = '393331234567'
const DEMO_CHAT = { phoneNumberId: NUMBER.phoneNumberId, from: DEMO_CUSTOMER, name: 'Ada' }

const WINDOW_LOOKS = 500
const WINDOW_LOOK_MS = 20

/** In the data folder, readable only by its owner. */
const TOKEN_FILE = 'demo-token'

/** Opens or creates the demo company; can resume after an interruption. Undefined if there are other companies. */
export async function openDemo(
  deps: OperatorDeps,
  { dataDir, sandboxUrl }: { dataDir: string; sandboxUrl: string },
): Promise<{ companyId: number; token: string } | undefined> {
  const companies = await listCompanies(deps.db)
  const demo = companies.find(({ name }) => name === DEMO_NAME)
  if (demo === undefined && companies.length > 0) return undefined
  const { id } = demo ?? (await createCompany(deps.db, { name: DEMO_NAME }))
  const token = await keyOf(deps, id, join(dataDir, TOKEN_FILE))
  await connectDemoNumber(deps, id, sandboxUrl)
  await setUpDemoEmail(deps, id)
  await registerDemoReceiver(deps, id, sandboxUrl)
  return { companyId: id, token }
}

async function keyOf(deps: OperatorDeps, companyId: number, file: string): Promise<string> {
  const stored = (await readFile(file, 'utf8').catch(() => '')).trim()
  const keys = await listApiKeys(deps.db, companyId)
  if (keys.some(({ clientId }) => stored.split('-').includes(clientId))) return stored
  const key = await createApiKey(deps, companyId, { name: 'Demo key', permissions: ['WhatsApp', 'Transactional'] })
  await writeFile(file, `${key.token}\n`, { mode: 0o600 })
  return key.token
}

/** Returns the demo token for the reference page; undefined unless only reachable locally. */
export async function findDemoToken(config: DemoConfig): Promise<string | undefined> {
  const isPublic = [config.host, new URL(config.baseUrl).hostname].some((host) => !isLoopback(host))
  if (config.databaseUrl !== undefined || !config.sandbox || isPublic) return undefined
  const token = await readFile(join(config.dataDir, TOKEN_FILE), 'utf8').catch(() => '')
  return token.trim() || undefined
}

type DemoConfig = Pick<Config, 'dataDir' | 'databaseUrl' | 'sandbox' | 'host' | 'baseUrl'>

/** The sandbox address may have changed since the number was connected. */
async function connectDemoNumber(deps: OperatorDeps, companyId: number, sandboxUrl: string): Promise<void> {
  const senders = await listSenders(deps.db, companyId)
  const existing = senders.find(({ phoneNumberId }) => phoneNumberId === NUMBER.phoneNumberId)
  if (existing === undefined) {
    const access = { accessToken: 'sandbox', apiBaseUrl: sandboxUrl }
    await connectSender(deps, companyId, { provider: DEFAULT_PROVIDER, ...NUMBER, wabaAccountId: ACCOUNT, ...access })
  } else if (existing.apiBaseUrl !== sandboxUrl) {
    await updateSender(deps, companyId, existing.id, { apiBaseUrl: sandboxUrl })
  }
}

/** Mails end in the sandbox mailbox. */
async function setUpDemoEmail(deps: OperatorDeps, companyId: number): Promise<void> {
  if ((await getEmailSettings(deps, companyId)) === undefined) {
    await setEmailSettings(deps, companyId, { from: 'demo@parley.example', fromName: 'Parley Demo', smtpUrl: null })
  }
  if ((await listEmailTemplates(deps.db, companyId)).length > 0) return
  await createEmailTemplate(deps.db, companyId, {
    name: 'order_update',
    subject: 'Your order {{ order }}',
    html: '<p>Hello {{ name }}, <a href="https://example.com/orders/{{ order }}">your order {{ order }}</a> is on its way.</p>',
    text: 'Hello {{ name }}, your order {{ order }} is on its way.',
  })
}

/** The sandbox knows the secret. */
async function registerDemoReceiver(deps: OperatorDeps, companyId: number, sandboxUrl: string): Promise<void> {
  const receiver = demoReceiver(sandboxUrl)
  const existing = await listCompanyRegistrations(deps, companyId)
  const stale = existing.find(({ name, url }) => name === receiver.name && url !== receiver.url)
  if (existing.length === 0) await deps.db.begin((tx) => createRegistration({ ...deps, db: tx }, companyId, receiver))
  else if (stale) await updateRegistration({ ...deps, rules: DEMO_RULES }, companyId, stale.id, { url: receiver.url })
}

const DEMO_RULES = { allowPrivate: true, serviceName: '' }

const demoReceiver = (sandboxUrl: string) => ({
  name: 'Demo receiver',
  url: `${sandboxUrl}/sandbox/receivers/demo`,
  events: ['whatsapp.message.received'],
  secret: 'demo-secret-of-16-or-more',
})

/** Sends an inbound demo message and waits until the window is open, a few seconds at most. */
export async function letCustomerWrite(deps: OperatorDeps, companyId: number, sandboxUrl: string): Promise<void> {
  const before = deps.clock.now()
  await fetch(`${sandboxUrl}/sandbox/inbound`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...DEMO_CHAT, type: 'text', text: { body: 'Hello, is my order ready?' } }),
  })
  for (let look = 0; look < WINDOW_LOOKS; look += 1) {
    // Provider timestamps are whole seconds.
    if (await hasWrittenSince(deps.db, companyId, DEMO_CUSTOMER, new Date(before.getTime() - 2_000))) return
    await new Promise((resume) => setTimeout(resume, WINDOW_LOOK_MS))
  }
}

type ConsoleLinks = { company: string; operator: string }

type Credentials = { token: string; links: ConsoleLinks | undefined }

/** Creates new console links. The first one opens the demo customer's phone. */
export async function openConsoleLinks(
  { createConsoleLink }: Pick<OperatorDeps, 'createConsoleLink'>,
  companyId: number,
): Promise<ConsoleLinks | undefined> {
  if (createConsoleLink === undefined) return undefined
  return {
    company: await createConsoleLink(companyId, { name: 'Demo agent', role: 'admin', path: '/console/phone' }),
    operator: await createConsoleLink(null, { name: 'Operator', role: 'admin' }),
  }
}

/** Formats reusable lines to paste, then the single-use console links, last because terminals show the end. */
export function greetingOf(baseUrl: string, sandboxUrl: string, { token, links }: Credentials): string {
  return [
    ...linesToPaste(baseUrl, sandboxUrl, token),
    `Base URL: ${baseUrl}    API reference: ${baseUrl}/docs`,
    `Token:    ${token}`,
    ...(links
      ? [
          `Operator: ${links.operator}    (each link signs in once, within an hour)`,
          `Console:  ${links.company}    (open it to chat as a customer, and to answer)`,
        ]
      : []),
  ].join('\n')
}

function linesToPaste(baseUrl: string, sandboxUrl: string, token: string): string[] {
  const json = `-H 'Content-Type: application/json'`
  const header = `-H 'Authorization: Bearer ${token}'`
  const send = (body: object) =>
    `curl -s ${baseUrl}/public/v1/templates/whatsapp/send ${header} ${json} -d '${JSON.stringify(body)}'`
  const parameters = [
    { type: 'text', text: 'Ada' },
    { type: 'text', text: 'A-10423' },
  ]
  const question = { ...DEMO_CHAT, type: 'text', text: { body: 'Is it ready?' } }
  const customerWrites = `curl -s ${sandboxUrl}/sandbox/inbound ${json} -d '${JSON.stringify(question)}'`
  const receiver = { ...demoReceiver(sandboxUrl), name: 'Shop', url: `${sandboxUrl}/sandbox/receivers/shop` }
  const email = {
    to: 'ada@example.com',
    subject: 'Hello from Parley',
    html: '<p>See <a href="https://example.com/">the shop</a></p>',
  }
  return [
    '# Send a text: the customer has just written, so the 24-hour window is open',
    send({ recipient: DEMO_CUSTOMER, type: 'text', text: 'Hello from Parley' }),
    '',
    '# Send an approved template: at any time',
    send({
      recipient: DEMO_CUSTOMER,
      type: 'template',
      template: { name: 'order_update', languageCode: 'en_US', components: [{ type: 'BODY', parameters }] },
    }),
    '',
    '# List the connected numbers',
    `curl -s ${baseUrl}/public/v1/templates/whatsapp/senders ${header}`,
    '',
    '# A customer writes: the conversation shows it',
    `${customerWrites}; echo; sleep 1; curl -s ${baseUrl}/public/v1/whatsapp/conversations ${header}`,
    '',
    '# Register a receiver of what customers write, signed; pasted again, the line answers the same receiver',
    `curl -s ${baseUrl}/public/v1/webhooks/registrations ${header} ${json} -H 'Idempotency-Key: ${receiver.url}' -d '${JSON.stringify(receiver)}'`,
    '',
    '# A customer writes: the sandbox shows the last delivery that the receiver got, with its signature',
    `${customerWrites}; echo; sleep 1; curl -s '${receiver.url}/requests?limit=1'`,
    '',
    '# Send an email: the sandbox plays the mail server and has it in its mailbox',
    `curl -s ${baseUrl}/public/v1/emails ${header} ${json} -d '${JSON.stringify(email)}'; sleep 1; curl -s ${sandboxUrl}/sandbox/emails`,
    '',
    '# What the sandbox, which plays the provider, received',
    `curl -s ${sandboxUrl}/sandbox/messages`,
    '',
  ]
}
