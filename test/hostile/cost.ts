import { createHmac, randomBytes, randomInt } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient } from './client.ts'
import type { Tally } from './tally.ts'
import { type Company, inboundText, type World } from './world.ts'

const WEBHOOK = '/public/v1/webhooks/whatsapp'
const JSON_TYPE = { 'content-type': 'application/json' }
const MIB = 1024 * 1024
/** Four bodies of this size leave less than a healthy body of what one address, or one company, may have in flight. */
const ALMOST_WHOLE = 4 * MIB - 32
/** The attacker posts from the address that the provider uses. */
const PROVIDER_ADDRESS = '127.0.0.4'
const SECRET = 'the-app-secret-of-the-number'

/** Processor time of the service for one forged body of 4 MiB, and for one template that is refused, in ms. */
const MOST_MS_FOR_FORGED = 250
const MOST_MS_FOR_TEMPLATE = 1_500
/** Messages of a bulk body that are recorded before one of another company; the body has 4,900. */
const MOST_BEFORE = 1_500

/** Attacks that cost much: on bodies in flight, signatures, addresses, the order of work and the console's routes. */
export async function attackCost(world: World, tally: Tally): Promise<void> {
  const provider = createClient(world.stage.url, PROVIDER_ADDRESS)
  const signed = await connectSigned(world)
  await holdSockets(world, provider, tally)
  await postBulk(world, provider, tally)
  await forgeBulk(world, provider, signed, tally)
  await spendAddress(world, provider, signed, tally)
  await saveTemplates(world, tally)
  await askAsOtherSite(world, tally)
  await provider.close()
}

const text = (phoneNumberId: string, words: string): string =>
  JSON.stringify(
    inboundText(phoneNumberId, `3933${randomInt(1e7, 1e8)}`, words, `wamid.${randomBytes(9).toString('hex')}`),
  )
const signatureOf = (body: string, secret = SECRET) => ({
  'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
})

/** A number whose events have to be signed. */
async function connectSigned({ stage }: World): Promise<string> {
  const { companyId, senders } = await stage.createCompany()
  const [sender] = senders
  if (sender === undefined) throw new Error('The company has no number')
  await stage.operator('PATCH', `/companies/${companyId}/senders/${sender.id}`, { appSecret: SECRET })
  return sender.phoneNumberId
}

/** Healthy calls while bodies are held open: from the provider's address, and with a browser key of the same company. */
async function holdSockets({ stage, own, foreign }: World, provider: Client, tally: Tally): Promise<void> {
  const sockets: Socket[] = []
  const hold = (count: number, bytes: number, path: string, headers: string[]) => {
    for (let n = 0; n < count; n++) sockets.push(holdBody(stage.url, bytes, path, headers))
  }
  const browser = [`Authorization: Bearer ${own.keys.ContactsUpsert}`]
  hold(40, 1, WEBHOOK, [])
  hold(4, ALMOST_WHOLE, WEBHOOK, [])
  hold(8, 1, '/public/v1/contacts', browser)
  hold(4, ALMOST_WHOLE, '/public/v1/contacts', browser)
  // Until the bodies have arrived; after five seconds they are ended as too slow.
  await sleep(2_500)
  const contact = (company: Company) =>
    provider.send({
      method: 'post',
      path: '/public/v1/contacts',
      headers: { ...JSON_TYPE, authorization: `Bearer ${company.keys.all}` },
      body: JSON.stringify({ email: `${randomBytes(6).toString('hex')}@example.com` }),
    })
  const event = () =>
    provider.send({ method: 'post', path: WEBHOOK, headers: JSON_TYPE, body: text(own.phoneNumberId, 'healthy') })
  const calls = { event, 'write of the same company': () => contact(own), 'write of another': () => contact(foreign) }
  for (const [name, call] of Object.entries(calls)) {
    for (let n = 0; n < 5; n++) {
      tally.requests++
      const answer = await call().catch(() => undefined)
      if (answer === undefined || answer.status >= 400) {
        tally.add('healthy calls refused', `${name}: ${answer?.status} ${answer?.text.slice(0, 100)}`)
      }
    }
  }
  for (const socket of sockets) socket.destroy()
}

function holdBody(url: string, bytes: number, path: string, headers: string[]): Socket {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), localAddress: PROVIDER_ADDRESS })
  const head = [`POST ${path} HTTP/1.1`, 'Host: a', 'Content-Type: application/json', `Content-Length: ${4 * MIB}`]
  socket.on('error', () => {})
  socket.write([...head, ...headers, '', ''].join('\r\n'))
  socket.write(Buffer.alloc(bytes, ' '))
  return socket
}

/** A valid body of 4,900 messages, and behind it one message of another company: counted by the order of the records. */
async function postBulk({ stage, own, foreign }: World, provider: Client, tally: Tally): Promise<void> {
  const body = inboundText(own.phoneNumberId, '393339999999', 'bulk', 'wamid.bulk')
  const [message] = body.entry[0]?.changes[0]?.value.messages ?? []
  const messages = Array.from({ length: 4_900 }, (_, n) => ({ ...message, id: `wamid.bulk.${n}` }))
  Object.assign(body.entry[0]?.changes[0]?.value ?? {}, { messages })
  const words = `after-bulk-${randomBytes(4).toString('hex')}`
  for (const one of [JSON.stringify(body), text(foreign.phoneNumberId, words)]) {
    tally.requests++
    const { status } = await provider.send({ method: 'post', path: WEBHOOK, headers: JSON_TYPE, body: one })
    if (status !== 200) tally.add('healthy calls refused', `a valid event: ${status}`)
  }
  for (let tries = 0; tries < 1_200; tries++, await sleep(50)) {
    const [row] = await stage.db<{ before: number }[]>`
      select (
        select count(*)::int from messages bulk where bulk.company_id = ${own.id} and bulk.text = 'bulk' and bulk.id < other.id
      ) as before
      from messages other
      where other.company_id = ${foreign.id} and other.text = ${words}
    `
    if (row === undefined) continue
    if (row.before > MOST_BEFORE) {
      tally.add(
        'others delayed by a hostile body',
        `${row.before} messages of a bulk body were recorded before another's`,
      )
    }
    return
  }
  tally.add('others delayed by a hostile body', 'a message behind a bulk body was not recorded within a minute')
}

/** Forged bodies of 4 MiB for a number with an app secret. */
async function forgeBulk({ stage }: World, provider: Client, signed: string, tally: Tally): Promise<void> {
  const named = text(signed, 'forged')
  const bodies = [
    `{"entry":[${'{},'.repeat(1_390_000)}{}]}`,
    named.replace('"entry"', `"x":[${'{},'.repeat(1_390_000)}{}],"entry"`),
  ]
  const before = (await stage.cpu()).service
  for (const body of bodies) {
    tally.requests++
    const headers = { ...JSON_TYPE, ...signatureOf(named, 'another-secret-of-16') }
    const { status } = await provider.send({ method: 'post', path: WEBHOOK, headers, body })
    if (status !== 401) tally.add('healthy calls refused', `a forged body was answered ${status}`)
  }
  countTime(tally, 'a forged body', (await stage.cpu()).service - before, bodies.length, MOST_MS_FOR_FORGED)
}

function countTime(tally: Tally, name: string, seconds: number, count: number, mostMs: number): void {
  const ms = Math.round((seconds * 1_000) / count)
  if (ms > mostMs) tally.add('processor time beyond the bound', `${name}: ${ms} ms, at most ${mostMs}`)
}

/** Garbage until the address is refused; a body that proves itself passes all the same. */
async function spendAddress(_world: World, provider: Client, signed: string, tally: Tally): Promise<void> {
  const garbage = `garbage ${'x'.repeat(4 * MIB - 100)}`
  const post = (body: string, headers = {}) =>
    provider.send({ method: 'post', path: WEBHOOK, headers: { ...JSON_TYPE, ...headers }, body })
  let status = 200
  for (let tries = 0; status !== 429 && tries < 200; tries++) {
    tally.requests++
    status = (await post(tries < 5 ? garbage : 'garbage')).status
    if (tries >= 5) await sleep(100)
  }
  if (status !== 429) tally.add('log lines or rows beyond the bound', `garbage is still answered ${status}`)
  const proven = text(signed, 'proven')
  const answer = await post(proven, signatureOf(proven))
  if (answer.status !== 200) tally.add('proven events refused', `${answer.status} ${answer.text.slice(0, 100)}`)
}

/** Templates of an operator that take long to parse or to fill. */
async function saveTemplates({ stage, own }: World, tally: Tally): Promise<void> {
  const templates = [
    '{% assign a = (1..2000000) | where_exp: "i", "i > 5" %}',
    `${'{% if a %}'.repeat(20_000)}x${'{% endif %}'.repeat(20_000)}`,
  ]
  const before = (await stage.cpu()).service
  for (const html of templates) {
    tally.requests++
    const answer = await fetch(`${stage.url}/admin/v1/companies/${own.id}/email-templates`, {
      method: 'POST',
      headers: { ...JSON_TYPE, authorization: `Bearer ${stage.adminToken}` },
      body: JSON.stringify({ name: 'Slow', subject: 'Slow', html }),
    })
    await answer.text()
    if (answer.ok) tally.add('processor time beyond the bound', `a slow template was answered ${answer.status}`)
  }
  countTime(tally, 'a template', (await stage.cpu()).service - before, templates.length, MOST_MS_FOR_TEMPLATE)
}

/** The console's routes, and what only this machine reads, as a page of another site asks for them. */
async function askAsOtherSite(world: World, tally: Tally): Promise<void> {
  const client = createClient(world.stage.url, '127.0.0.1')
  const [session, operator] = world.askers.slice(-2)
  const own = new URL(world.stage.url)
  const page = { ...session?.headers, origin: own.origin, 'sec-fetch-site': 'same-origin' }
  const forged: Record<string, Record<string, string>> = {
    'another host': { ...page, host: 'evil.example' },
    'another port': { ...page, host: `${own.hostname}:1` },
    'another site': { ...page, 'sec-fetch-site': 'cross-site' },
    'a sibling site': { ...page, 'sec-fetch-site': 'same-site' },
  }
  const routes = ['/session', '/sessions', '/public/v1/me', '/public/v1/contacts', '/public/v1/whatsapp/conversations']
  for (const [name, headers] of Object.entries(forged)) {
    for (const route of routes) {
      tally.requests++
      const answer = await client.send({ method: 'get', path: `/console/api${route}`, headers })
      if (answer.status !== 403) tally.add('answers to other sites', `${route} for ${name}: ${answer.status}`)
    }
    tally.requests++
    const headersOfOperator = { ...headers, cookie: operator?.headers.cookie ?? '' }
    const companies = await client.send({
      method: 'get',
      path: '/console/api/admin/v1/companies',
      headers: headersOfOperator,
    })
    if (companies.status !== 403) tally.add('answers to other sites', `companies for ${name}: ${companies.status}`)
  }
  for (const path of ['/metrics', '/readyz']) {
    tally.requests++
    const { text: shown } = await client.send({ method: 'get', path, headers: { host: 'evil.example:3000' } })
    if (/parley_build_info|details/.test(shown)) tally.add('leaks', `${path} is read under the name of another site`)
  }
  await client.close()
}
