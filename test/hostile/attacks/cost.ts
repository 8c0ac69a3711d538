import { createHmac, randomBytes, randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient } from '../client.ts'
import type { Tally } from '../tally.ts'
import { untilHandled, untilNone } from '../until-found.ts'
import { connectCompany, inboundText, type World } from '../world.ts'
import { connectSilent, postBulk } from './bulk-body.ts'
import { holdBodies, holdConnections } from './sockets.ts'

const WEBHOOK = '/public/v1/webhooks/whatsapp'
const JSON_TYPE = { 'content-type': 'application/json' }
const MIB = 1024 * 1024
/** The attacker posts from the address that the provider uses. */
const PROVIDER_ADDRESS = '127.0.0.4'
const SECRET = 'the-app-secret-of-the-number'

/** Forged bodies come from there while they are measured, one round from each. */
const FORGER_ADDRESSES = ['127.0.0.8', '127.0.0.10', '127.0.0.11']

/** Parsing so many takes longer than the hundredth of a second in which processor time is counted. */
const MEASURED_VALUES = 700_000
/** For so long no body is read: then most of the measured ones are read at once, beside little other work of the service. */
const BURST_PAUSE_MS = 1_000
/** The highest cost of a forged body, which is not parsed, as a multiple of what parsing it costs here. */
const MOST_PARSES = 1
/** Messages of a bulk body. A brief run has fewer, yet more than may be recorded before one of another company. */
const BULK_MESSAGES = 4_900
const BRIEF_BULK_MESSAGES = 2_500
/** Long mails, which a company's rate of bodies lets through in as many seconds. A brief run has one. */
const LONG_MAILS = 4

/** 0.9 MB of links, each of which is read and rewritten. */
const LONG_MAIL = '<p><a href="https://example.com/a">link</a></p>'.repeat(20_000)

/**
 * An attack, whether it can begin again at once, and what ends the work that it leaves: unmeasured after each round, and once it has
 * run for the last time.
 */
export type Attack = {
  name: string
  run: (round: number) => Promise<void>
  cleanUp?: () => Promise<unknown>
  isRepeatable?: boolean
  end?: () => Promise<unknown>
}

/**
 * Attacks that cost the service much: on bodies in flight, signatures, addresses, the order of work and the console's routes.
 * Large bodies are made before the first of them. `isControl`: only what shows the planted faults. `isBrief`: delays are not judged.
 */
export async function createCostAttacks(world: World, tally: Tally, kind: { isControl: boolean; isBrief: boolean }) {
  const bulk = kind.isBrief ? BRIEF_BULK_MESSAGES : BULK_MESSAGES
  const provider = createClient(world.stage.url, PROVIDER_ADDRESS)
  const signed = await connectSigned(world)
  const silent = await connectSilent(world)
  const forged = forgedBodies(signed)
  const garbage = [
    Buffer.from(`{"entry":[{"changes":[{"value":{"statuses":[${'0,'.repeat(4_000)}0]}}]}]}`),
    Buffer.from(`garbage ${'x'.repeat(4 * MIB - 100)}`),
  ]
  const mail = { to: 'a@example.com', from: 'b@example.com', subject: 'Long', html: LONG_MAIL }
  const texts = {
    templates: SLOW_TEMPLATES.map((html) => JSON.stringify({ name: 'Slow', subject: 'Slow', html })),
    mail: JSON.stringify(mail),
  }
  const attacks: Attack[] = [
    {
      name: 'idle connections',
      run: (round) => holdConnections(world, tally, round),
      isRepeatable: true,
    },
    { name: 'held bodies', run: () => holdBodies(world, provider, PROVIDER_ADDRESS, tally, kind) },
    {
      name: 'a bulk body',
      run: (round) => postBulk(world, silent, provider, tally, round, bulk),
      isRepeatable: true,
      end: silent.end,
    },
    {
      name: 'a spent address',
      run: (round) => spendAddress(world, signed, garbage, tally, round),
      isRepeatable: true,
    },
    { name: 'forged bodies', run: () => forgeBulk(provider, forged, tally), isRepeatable: true },
    {
      name: 'slow templates and mails',
      run: () => sendSlowTexts(world, provider, texts, kind.isBrief ? 1 : LONG_MAILS, tally),
      isRepeatable: true,
    },
    { name: 'pages of other sites', run: () => askAsOtherSite(world, tally), isRepeatable: true },
  ]
  return {
    attacks,
    measureForged: () => measureForged(world, signed, tally),
    close: () => provider.close(),
  }
}

const SLOW_TEMPLATES = [
  '{% assign a = (1..2000000) | where_exp: "i", "i > 5" %}',
  `${'{% if a %}'.repeat(20_000)}x${'{% endif %}'.repeat(20_000)}`,
]

const text = (phoneNumberId: string, content: string): string =>
  JSON.stringify(
    inboundText(phoneNumberId, `3933${randomInt(1e7, 1e8)}`, content, `wamid.${randomBytes(9).toString('hex')}`),
  )
const signatureOf = (body: string, secret = SECRET) => ({
  'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
})

/** A number whose events have to be signed. */
async function connectSigned({ stage }: World): Promise<string> {
  const { companyId, sender } = await connectCompany(stage)
  await stage.operator('PATCH', `/companies/${companyId}/senders/${sender.id}`, { appSecret: SECRET })
  return sender.phoneNumberId
}

type Forged = { body: Buffer; headers: Record<string, string> }

/** Bodies for a number with an app secret, which another secret signed: by default of 4 MiB. */
function forgedBodies(signed: string, values = 1_390_000): Forged[] {
  const named = text(signed, 'forged')
  const headers = { ...JSON_TYPE, ...signatureOf(named, 'another-secret-of-16') }
  const members = `[${'{},'.repeat(values)}{}]`
  return [`{"entry":${members}}`, named.replace('"entry"', `"x":${members},"entry"`)].map((body) => ({
    body: Buffer.from(body),
    headers,
  }))
}

async function forgeBulk(client: Client, bodies: readonly Forged[], tally: Tally): Promise<void> {
  for (const { body, headers } of bodies) {
    tally.requests++
    const { status } = await client.send({ method: 'post', path: WEBHOOK, headers, body })
    if (status !== 401) tally.add('healthy calls refused', `a forged body was answered ${status}`)
  }
}

/**
 * Compares the processor time of the service for forged bodies with that of parsing them here, without what the service takes in an
 * equally long time before or afterwards, whichever is less. Other work can only add to it, so the cheapest round counts.
 */
async function measureForged({ stage }: World, signed: string, tally: Tally): Promise<void> {
  const bodies = forgedBodies(signed, MEASURED_VALUES)
  const started = process.cpuUsage()
  for (const { body } of bodies) JSON.parse(String(body))
  const { user, system } = process.cpuUsage(started)
  const parsing = (user + system) / 1e6
  /** How long `work` took, and the processor time of the service in each of its seconds. */
  const rateDuring = async (work: () => Promise<void>) => {
    const [startedAtMs, before] = [performance.now(), (await stage.cpu()).service]
    await work()
    const [seconds, used] = [(performance.now() - startedAtMs) / 1_000, (await stage.cpu()).service - before]
    return { seconds, rate: used / seconds }
  }
  const rounds: number[] = []
  for (const address of FORGER_ADDRESSES) {
    const forger = createClient(stage.url, address)
    const before = await rateDuring(() => sleep(BURST_PAUSE_MS))
    const { seconds, rate } = await rateDuring(() => forgeBulk(forger, bodies, tally))
    const after = await rateDuring(() => sleep(seconds * 1_000))
    rounds.push(((rate - Math.min(before.rate, after.rate)) * seconds) / parsing)
    await forger.close()
    if ((rounds.at(-1) ?? 0) <= MOST_PARSES) break
  }
  const parses = Math.min(...rounds)
  tally.figures.push(`a forged body costs the service ${parses.toFixed(2)} times what parsing it costs`)
  if (parses > MOST_PARSES) {
    tally.add('processor time beyond the bound', `a forged body: ${parses.toFixed(2)} parses, at most ${MOST_PARSES}`)
  }
}

/**
 * Posts garbage until the address is refused, by its items and by its bytes in rotation; a body that proves itself is accepted all
 * the same. The first address is the provider's.
 */
async function spendAddress(
  { stage }: World,
  signed: string,
  garbage: readonly Buffer[],
  tally: Tally,
  round: number,
): Promise<void> {
  const client = createClient(stage.url, round === 0 ? PROVIDER_ADDRESS : `127.0.3.${round}`)
  const post = (body: string | Buffer, headers = {}) =>
    client.send({ method: 'post', path: WEBHOOK, headers: { ...JSON_TYPE, ...headers }, body })
  let status = 200
  for (let tries = 0; status !== 429 && tries < 200; tries++) {
    tally.requests++
    status = (await post((tries < 5 && garbage[round % garbage.length]) || 'garbage')).status
    if (tries >= 5) await sleep(100)
  }
  if (status !== 429) tally.add('log lines or rows beyond the bound', `garbage is still answered ${status}`)
  const proven = text(signed, 'proven')
  const answer = await post(proven, signatureOf(proven))
  if (answer.status !== 200) tally.add('proven events refused', `${answer.status} ${answer.text.slice(0, 100)}`)
  await untilHandled(stage.db)
  await client.close()
}

/** Templates of an operator that take long to parse or to fill, which are refused, and mails that take long to read. */
async function sendSlowTexts(
  { stage, own }: World,
  client: Client,
  { templates, mail }: { templates: readonly string[]; mail: string },
  mails: number,
  tally: Tally,
): Promise<void> {
  const send = async (path: string, token: string, body: string) => {
    tally.requests++
    const headers = { ...JSON_TYPE, authorization: `Bearer ${token}` }
    return (await client.send({ method: 'post', path, headers, body })).status
  }
  for (const template of templates) {
    const status = await send(`/admin/v1/companies/${own.id}/email-templates`, stage.adminToken, template)
    if (status !== 422) {
      tally.add('processor time beyond the bound', `a template that does not end was answered ${status}`)
    }
  }
  for (let n = 0; n < mails; n++) {
    const status = await send('/public/v1/emails', own.keys.all, mail)
    if (status !== 201) tally.add('healthy calls refused', `a mail of 0.9 MB was answered ${status}`)
  }
  await untilNone(() => stage.db`select from emails where company_id = ${own.id} and status = 'pending' limit 1`)
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
