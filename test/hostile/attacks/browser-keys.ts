import { createHmac } from 'node:crypto'
import { type Answer, type Client, createClient } from '../client.ts'
import type { Contract } from '../operation.ts'
import type { Tally } from '../tally.ts'
import type { World } from '../world.ts'

const CONTACTS = '/public/v1/contacts'
/** Requests of a company in its window, and the half that its key for browsers leaves to keys of servers. */
const LIMIT = 40
const LEFT_TO_SERVERS = 20
const NAME = 'Victim'

type Json = Record<string, unknown>
type Shop = { page: Json; narrow: Json; asPage: Ask; asNarrow: Ask; asServer: Ask }
type Ask = (method: string, path: string, body?: unknown, type?: string, from?: Client) => Promise<Answer>
type Victim = { email: string; phone: string }

/** Tries the key of a page as any visitor can: other routes, long arrays, contacts of others, forged proofs, the limit. */
export async function attackBrowserKeys(world: World, client: Client, contract: Contract, tally: Tally): Promise<void> {
  const shop = await createShop(world, client, tally, 1_000_000)
  await askElsewhere(contract, shop, tally)
  await writeForeign(world, shop, tally)
  await spendLimit(world, client, tally)
}

async function createShop({ stage }: World, client: Client, tally: Tally, rateLimitPerMinute: number): Promise<Shop> {
  const { id } = Object(await stage.operator('POST', '/companies', { name: 'Shop', rateLimitPerMinute }))
  const createKey = async (settings: object): Promise<Json> =>
    Object(await stage.operator('POST', `/companies/${id}/api-keys`, { name: 'Key', ...settings }))
  const as =
    ({ token }: Json): Ask =>
    (method, path, body, type = 'application/json', from = client) => {
      tally.requests++
      return from.send({
        method,
        path,
        headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': type }) },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
    }
  const page = await createKey({ permissions: ['ContactsUpsert'], identitySecret: true })
  const narrow = await createKey({
    permissions: ['ContactsUpsert'],
    identitySecret: true,
    writableFields: ['tags', 'marketingConsent'],
  })
  const server = await createKey({ permissions: ['WhatsApp', 'Transactional'] })
  return { page, narrow, asPage: as(page), asNarrow: as(narrow), asServer: as(server) }
}

/** Every route that does not name the permission is refused. */
async function askElsewhere({ operations }: Contract, shop: Shop, tally: Tally): Promise<void> {
  for (const operation of operations.filter(({ credential }) => credential === 'apiKey')) {
    const { name, method, path, permissions } = operation
    if (path.startsWith('/api/') || permissions.includes('ContactsUpsert')) continue
    const body = ['get', 'delete'].includes(method) ? undefined : {}
    const { status } = await shop.asPage(method, path.replaceAll(/\{\w+\}/g, '1'), body)
    if (status !== 403) tally.add('rights beyond a browser key', `${name}: ${status}`)
  }
}

/** Writes about a contact that the page does not own. Afterwards it is what the server made it. */
async function writeForeign(world: World, shop: Shop, tally: Tally): Promise<void> {
  const optedOut = { marketingConsent: { email: false, whatsapp: false } }
  const victim: Victim = { email: 'victim@example.com', phone: '393331112223' }
  await shop.asServer('post', CONTACTS, { ...victim, firstName: NAME, lastName: NAME, ...optedOut })
  const read = async () => JSON.parse((await shop.asServer('get', `${CONTACTS}/by-email/${victim.email}`)).text).data
  const before = protectedOf(await read())
  const add = (what: string) => tally.add('rights beyond a browser key', what)

  for (const { body, type } of foreignWrites(victim)) {
    const answer = await shop.asNarrow('post', CONTACTS, body, type)
    const sent = typeof body === 'string' ? body : JSON.stringify(body)
    if (answer.status >= 500) tally.add('answers with status 5xx', `${sent}: ${answer.status}`)
    if (answer.text.includes(NAME)) add(`the answer shows the stored name: ${sent}`)
    if (/"id"|created_at/.test(answer.text)) add(`the answer shows what was stored: ${sent}`)
    const after = protectedOf(await read())
    if (after !== before) return add(`${sent} changed ${before} to ${after}`)
  }
  const long = Array.from({ length: 11 }, (_, n) => ({ email: `long${n}@example.com` }))
  for (const body of [long, [...long, ...long]]) {
    const { status } = await shop.asPage('post', CONTACTS, body)
    if (status !== 422) add(`an array of ${body.length} was answered ${status}`)
  }
  for (const identityProof of forgedProofs(world, shop, victim)) {
    for (const body of [attack(victim, { identityProof }), [attack(victim, { identityProof })]]) {
      const { status } = await shop.asNarrow('post', CONTACTS, body)
      if (status !== 422) add(`the forged proof ${identityProof} was answered ${status}`)
    }
  }
  // A proof of the visitor's own phone, beside the email of the victim.
  const own = '393339998887'
  const identityProof = hmac(String(shop.narrow.identitySecret), own)
  await shop.asNarrow('post', CONTACTS, { ...attack(victim, { identityProof }), phone: own })
  const after = protectedOf(await read())
  if (after !== before) add(`proofs changed ${before} to ${after}`)
}

const attack = ({ email }: Victim, members: object = {}): Json => ({
  email,
  phone: '393330000001',
  firstName: 'Eve',
  lastName: 'Eve',
  marketingConsent: { email: true, whatsapp: true },
  ...members,
})

/** The members that the key may not change. */
function protectedOf(contact: Json): string {
  const { id, email, phone, first_name, last_name, marketing_consent } = contact
  return JSON.stringify({ id, email, phone, first_name, last_name, marketing_consent })
}

function foreignWrites(victim: Victim): { body: unknown; type?: string }[] {
  const byPhone = {
    phone: victim.phone,
    email: 'eve@example.com',
    firstName: 'Eve',
    marketingConsent: { whatsapp: true },
  }
  const pairs = { email: victim.email, phone: '393330000001', firstName: 'Eve', 'marketingConsent.email': 'true' }
  return [
    { body: attack(victim) },
    { body: byPhone },
    { body: [attack(victim), byPhone] },
    { body: [{ email: 'eve@example.com', phone: victim.phone }, attack({ ...victim, email: 'eve@example.com' })] },
    { body: attack({ ...victim, email: victim.email.toUpperCase() }) },
    { body: attack({ ...victim, email: ` ${victim.email} ` }) },
    { body: { ...byPhone, phone: `+${victim.phone}` } },
    { body: { ...byPhone, phone: `00${victim.phone}` } },
    { body: { ...byPhone, phone: '+39 333 111 2223' } },
    { body: attack(victim, { id: 1, company: 1, external_id: 'x', deleted: true, email_consent: true }) },
    { body: `{"__proto__":{"proven":{"email":true}},${JSON.stringify(attack(victim)).slice(1)}` },
    { body: new URLSearchParams(pairs).toString(), type: 'application/x-www-form-urlencoded' },
    { body: multipart(pairs), type: 'multipart/form-data; boundary=edge' },
    { body: attack(victim, { email: victim.email, phone: null }) },
    { body: attack(victim, { marketingConsent: { email: null, whatsapp: null } }) },
  ]
}

const multipart = (fields: Record<string, string>): string =>
  `${Object.entries(fields)
    .map(([name, value]) => `--edge\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
    .join('')}--edge--\r\n`

const hmac = (secret: string, identity: string): string => createHmac('sha256', secret).update(identity).digest('hex')

/** Proofs with secrets that an attacker can guess or has, of identities other than the one that is written, and no proofs. */
function forgedProofs({ foreign }: World, { page, narrow }: Shop, { email }: Victim): string[] {
  const guesses = [
    '',
    'null',
    String(narrow.token),
    String(narrow.clientId),
    String(page.identitySecret),
    foreign.keys.all,
  ]
  const right = hmac(String(narrow.identitySecret), email)
  return [
    ...guesses.map((secret) => hmac(secret, email)),
    hmac(String(narrow.identitySecret), 'eve@example.com'),
    right.slice(0, 62),
    `${right}00`,
    right.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
    '',
    'x'.repeat(64),
  ]
}

/** The key of a page from many addresses: afterwards the company's servers still have their half of the limit. */
async function spendLimit(world: World, client: Client, tally: Tally): Promise<void> {
  const { asPage, asServer } = await createShop(world, client, tally, LIMIT)
  const addresses = Array.from({ length: 8 }, (_, n) => createClient(world.stage.url, `127.0.1.${n + 1}`))
  await Promise.all(
    addresses.map(async (from) => {
      for (let n = 0; n < 10; n++) await asPage('get', '/public/v1/me', undefined, undefined, from)
      await from.close()
    }),
  )
  const answers = await Promise.all(Array.from({ length: LEFT_TO_SERVERS }, () => asServer('get', '/public/v1/me')))
  const refused = answers.filter(({ status }) => status === 429).length
  if (refused > 0) {
    tally.add('limits spent by a browser key', `${refused} of ${LEFT_TO_SERVERS} requests of a server were refused`)
  }
}
