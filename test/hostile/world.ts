import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type Stage, type StageOptions, setStage } from '../../bench/stage.ts'
import { BEHIND_NGINX, startNginx } from '../deploy/nginx.ts'
import { type Client, createClient } from './client.ts'
import { untilFound } from './until-found.ts'

/** A company of the run: its keys by permissions, and one living and one deleted id of each kind of thing. */
export type Company = {
  id: number
  keys: Record<KeyName, string>
  phoneNumberId: string
  things: Record<ThingName, { living: string; deleted?: string }>
}
export const KEY_NAMES = ['WhatsApp', 'Transactional', 'ContactsUpsert', 'all'] as const
export type KeyName = (typeof KEY_NAMES)[number]
export type ThingName =
  | 'contact'
  | 'contactEmail'
  | 'conversation'
  | 'registration'
  | 'message'
  | 'scheduledMessage'
  | 'customField'
  | 'quickReply'
  | 'log'
  | 'delivery'
  | 'import'
  | 'email'
  | 'transactional'
  | 'emailTemplate'
  | 'sender'
  | 'clientId'
  | 'templateFamily'
  | 'senderNumber'

type Headers = Record<string, string>
/** A credential of the attacker: where its requests go, and their headers. */
export type Asker = { name: string; prefix: string; headers: Headers }

export type WorldOptions = StageOptions & {
  /** Attackers and healthy callers reach the service through nginx with deploy/nginx.conf. */
  isBehindNginx?: boolean
}

export type World = {
  stage: Stage
  /** The checkout whose service runs; absent: this one. */
  root: string | undefined
  /** The keys of `own`, a session of it in the console, and one of the operator who acts for it. */
  askers: readonly Asker[]
  /** Whose keys the attacker has. */
  own: Company
  /** The neighbour: every text of it holds FOREIGN_MARK. */
  foreign: Company
  adminToken: string
  /** A server on a private address that no request may reach. */
  canary: { url: string; hits: () => number }
  stop(): Promise<void>
}

/** Files that the service may have open: its bound of connections is a part of them. */
export const OPEN_FILES = 512
/** WEBHOOK_BACKLOG of the service: with its real bound, an attack would write millions of rows. */
export const BACKLOG = 5_000

export const FOREIGN_MARK = 'neighbour-words-4711'
const EVENT = 'whatsapp.message.received'

/** The world itself is made without the proxy, which would refuse plain HTTP. */
const BESIDE_NGINX = { ...BEHIND_NGINX, PLAIN_HTTP: 'loopback' }

/** A service as a user starts it, with two companies that have one of everything. */
export async function createWorld({ isBehindNginx = false, ...options }: WorldOptions = {}): Promise<World> {
  const stage = await setStage({
    ...options,
    openFiles: OPEN_FILES,
    env: { WEBHOOK_BACKLOG: String(BACKLOG), ...(isBehindNginx && BESIDE_NGINX), ...options.env },
  })
  const front = isBehindNginx ? await startNginx([stage.url]) : undefined
  const canary = await startCanary()
  const client = createClient(stage.url)
  const own = await createCompany(stage, client, 'own-words')
  const foreign = await createCompany(stage, client, FOREIGN_MARK)
  await client.close()
  return {
    stage: front === undefined ? stage : { ...stage, url: front.address },
    root: options.root,
    askers: [
      ...KEY_NAMES.map((name) => ({ name, prefix: '', headers: { authorization: `Bearer ${own.keys[name]}` } })),
      { name: 'session', prefix: '/console/api', headers: (await signIn(stage.url, own.keys.all)).headers },
      {
        name: 'operator',
        prefix: `/console/api/as/${own.id}`,
        headers: (await signIn(stage.url, stage.adminToken)).headers,
      },
    ],
    own,
    foreign,
    adminToken: stage.adminToken,
    canary: canary.view,
    stop: async () => {
      canary.server.close()
      await front?.stop()
      await stage.stop()
    },
  }
}

/** Signs in to the console: the headers of its pages, and the session. */
export async function signIn(origin: string, token: string): Promise<{ headers: Headers; session: { role?: string } }> {
  const page = { origin, 'sec-fetch-site': 'same-origin' }
  const answer = await fetch(`${origin}/console/api/session`, {
    method: 'POST',
    headers: { ...page, 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  })
  const cookie = answer.headers.get('set-cookie')?.split(';')[0]
  if (cookie === undefined) throw new Error(`The sign-in to the console failed: ${answer.status}`)
  return { headers: { ...page, cookie }, session: Object(await answer.json()) }
}

async function startCanary(): Promise<{ server: Server; view: World['canary'] }> {
  let hits = 0
  const server = createServer((_, response) => {
    hits++
    response.end(FOREIGN_MARK)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  return { server, view: { url: `http://127.0.0.1:${port}/`, hits: () => hits } }
}

/** A company of the operator's API with one number. */
export async function connectCompany(stage: Stage) {
  const { senders, ...company } = await stage.createCompany()
  const [sender] = senders
  if (sender === undefined) throw new Error('The company has no number')
  return { ...company, sender }
}

async function createCompany(stage: Stage, client: Client, companyName: string): Promise<Company> {
  const { companyId, sender } = await connectCompany(stage)
  const admin = (method: string, path: string, body?: unknown) =>
    stage.operator(method, `/companies/${companyId}${path}`, body).then(Object)
  const createKey = async (permissions: string[]) =>
    Object(await admin('POST', '/api-keys', { name: companyName, permissions }))
  const all = await createKey(['WhatsApp', 'Transactional', 'ContactsUpsert'])
  const keys = {
    all: String(all.token),
    WhatsApp: String((await createKey(['WhatsApp'])).token),
    Transactional: String((await createKey(['Transactional'])).token),
    ContactsUpsert: String((await createKey(['ContactsUpsert'])).token),
  }
  const api = async (method: string, path: string, body?: unknown, type = 'application/json') => {
    const headers = { authorization: `Bearer ${keys.all}`, ...(body !== undefined && { 'content-type': type }) }
    const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const request = { method, path: `/public/v1${path}`, headers, ...(sent !== undefined && { body: sent }) }
    const { status, text } = await client.send(request)
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`)
    return JSON.parse(text)
  }
  const twice = async (create: () => Promise<string>, remove: (id: string) => Promise<unknown>) => {
    const [living, deleted] = [await create(), await create()]
    await remove(deleted)
    return { living, deleted }
  }
  const email = () => `${companyName}-${crypto.randomUUID()}@example.com`

  const contact = await twice(
    async () => String((await api('POST', '/contacts', { email: email(), firstName: companyName })).data[0].id),
    (id) => api('DELETE', `/contacts/${id}`),
  )
  const living = await api('GET', `/contacts/${contact.living}`)
  const registration = await twice(
    async () =>
      String(
        (
          await api('POST', '/webhooks/registrations', {
            name: companyName,
            url: 'https://example.com/hook',
            events: [EVENT],
          })
        ).id,
      ),
    (id) => api('DELETE', `/webhooks/registrations/${id}`),
  )
  const template = { name: companyName, subject: companyName, html: `<p>${companyName} {{ name }}</p>` }
  const transactionalIds: number[] = []
  const emailTemplate = await twice(
    async () => {
      const created = await admin('POST', '/email-templates', template)
      transactionalIds.push(created.transactionalId)
      return String(created.id)
    },
    (id) => admin('DELETE', `/email-templates/${id}`),
  )
  const sent = await api('POST', '/emails', {
    to: email(),
    subject: companyName,
    html: `<p>${companyName}</p>`,
    from: email(),
  })
  const list = await api('POST', '/contacts/import', `email\n${email()}\n`, 'text/csv')
  const conversation = await createConversation(stage, sender.phoneNumberId, companyName, api)
  const message = await waitFor('a message', async () => {
    const [first] = (await api('GET', `/whatsapp/conversations/${conversation}/messages`)).data
    return first?.id
  })
  const scheduled = await api('POST', `/whatsapp/conversations/${conversation}/messages`, {
    type: 'text',
    text: companyName,
    sendAt: new Date(Date.now() + 24 * 3_600_000).toISOString(),
  })
  const customField = await api('POST', '/custom-fields', { key: 'MARK', displayName: companyName, type: 'text' })
  const quickReply = await api('POST', '/whatsapp/quick-replies', { title: companyName, text: companyName })
  const log = await waitFor('a delivery log', async () => {
    const [first] = await api('GET', `/webhooks/registrations/${registration.living}/logs`)
    return first?.id
  })
  const deliveries = await api('GET', `/webhooks/registrations/${registration.living}/deliveries`)
  const families = await api('GET', '/templates/whatsapp')
  const numbers = await api('GET', '/templates/whatsapp/senders')
  return {
    id: companyId,
    keys,
    phoneNumberId: sender.phoneNumberId,
    things: {
      contact,
      contactEmail: { living: living.data.email },
      conversation: { living: conversation },
      registration,
      message: { living: message },
      scheduledMessage: { living: String(scheduled.data.id) },
      customField: { living: String(customField.data.id) },
      quickReply: { living: String(quickReply.data.id) },
      log: { living: log },
      delivery: { living: String(deliveries.data[0].id) },
      import: { living: String(list.data.id) },
      email: { living: sent.data.id },
      transactional: { living: String(transactionalIds[0]) },
      emailTemplate,
      sender: { living: String(sender.id) },
      clientId: { living: String(all.clientId) },
      templateFamily: { living: families.data[0].id },
      senderNumber: { living: numbers.items[0].phoneNumberId },
    },
  }
}

async function createConversation(
  stage: Stage,
  phoneNumberId: string,
  content: string,
  api: (method: string, path: string) => Promise<{ data: { chatId: number }[] }>,
): Promise<string> {
  await fetch(`${stage.url}/public/v1/webhooks/whatsapp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(inboundText(phoneNumberId, '393331234567', content, `wamid.${crypto.randomUUID()}`)),
  })
  return waitFor('a conversation', async () => (await api('GET', '/whatsapp/conversations')).data[0]?.chatId)
}

/** The id of a thing that the service makes in the background. */
async function waitFor(name: string, find: () => Promise<string | number | undefined>): Promise<string> {
  const id = await untilFound(find)
  if (id === undefined) throw new Error(`The service made no ${name.replace(/^an? /, '')}`)
  return String(id)
}

/** A customer's text as Meta posts it. */
export function inboundText(phoneNumberId: string, from: string, text: string, wamid: string) {
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const value = {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: '393330000000', phone_number_id: phoneNumberId },
    contacts: [{ wa_id: from, profile: { name: text } }],
    messages: [{ from, id: wamid, timestamp, type: 'text', text: { body: text } }],
  }
  return { object: 'whatsapp_business_account', entry: [{ id: '1', changes: [{ field: 'messages', value }] }] }
}
