import { randomBytes } from 'node:crypto'
import { createToken } from '../../../src/emails/tracking/tracking-token.ts'
import { createClient } from '../client.ts'
import type { Tally } from '../tally.ts'
import type { World } from '../world.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
/** Bytes that the key of the attack may store in an hour: one address a fifth. */
const STORED_BYTES = 200 * 1_024
const OF_ADDRESS = STORED_BYTES / 5
const NOTE_BYTES = 8 * 1_024
const WRITES = 12
/** Clicks of a mail, of which this many are kept. */
const CLICKS = 1_100
const MOST_KEPT = 1_000
const SESSIONS = 8
const MOST_SESSIONS = 5
const SESSION_REQUESTS = 20

/** Makes the service keep more than it should: contacts and answers of a browser key, clicks of a recipient. */
export async function fillStorage({ stage }: World, tally: Tally, round: number): Promise<void> {
  const client = createClient(stage.url, `127.0.5.${round + 1}`)
  const { id: companyId } = Object(
    await stage.operator('POST', '/companies', { name: 'Kept', rateLimitPerMinute: 100_000 }),
  )
  const key = { name: 'Page', permissions: ['ContactsUpsert'], storedBytesPerHour: STORED_BYTES }
  const { token } = Object(await stage.operator('POST', `/companies/${companyId}/api-keys`, key))
  for (let n = 0; n < WRITES; n += 1) {
    tally.requests++
    const headers = { ...JSON_TYPE, authorization: `Bearer ${token}`, 'idempotency-key': `kept-${n}` }
    const body = JSON.stringify({ email: `kept${n}@example.com`, customFields: { note: 'x'.repeat(NOTE_BYTES) } })
    await client.send({ method: 'post', path: '/public/v1/contacts', headers, body })
  }
  const [contacts] = await stage.db<{ bytes: number }[]>`
    select coalesce(sum(octet_length(custom_fields::text)), 0)::int as bytes from contacts where company_id = ${companyId}`
  const bytes = contacts?.bytes ?? 0
  if (bytes > OF_ADDRESS) tally.add('bytes or rows kept beyond the bound', `${bytes} bytes of a browser key`)

  const secret = randomBytes(32)
  const [email] = await stage.db<{ id: number }[]>`
    insert into emails (company_id, uid, recipient, subject, message_id, secret, is_marketing, status, completed_at)
    values (${companyId}, ${`eml_${companyId}`}, 'a@example.com', 'S', 'm', ${secret}, false, 'sent', now() - interval '1 hour')
    returning id`
  const emailId = email?.id ?? 0
  await stage.db`
    insert into email_links (company_id, email_id, targets) values (${companyId}, ${emailId}, array['https://a.example/'])`
  const path = `/public/v1/c/${createToken({ companyId, id: emailId, secret }, 'click', 1)}`
  tally.requests += CLICKS
  await Promise.all(Array.from({ length: CLICKS }, () => client.send({ method: 'get', path })))
  const clicks = await stage.db`select from email_clicks where company_id = ${companyId}`
  if (clicks.length > MOST_KEPT) tally.add('bytes or rows kept beyond the bound', `${clicks.length} clicks of a mail`)
  await client.close()
}

/** Signs in with one key as often as an address may, and asks with all sessions. */
export async function signInOften({ stage }: World, tally: Tally, round: number): Promise<void> {
  const limit = { rateLimitPerMinute: 100_000, sessionRateLimitPerMinute: SESSION_REQUESTS }
  const { id } = Object(await stage.operator('POST', '/companies', { name: 'Signed in', ...limit }))
  const key = { name: 'Key', permissions: ['WhatsApp'] }
  const { token } = Object(await stage.operator('POST', `/companies/${id}/api-keys`, key))
  // An address signs in ten times a minute.
  const client = createClient(stage.url, `127.0.6.${round + 1}`)
  const page = { origin: stage.url, 'sec-fetch-site': 'same-origin' }
  const cookies: string[] = []
  for (let n = 0; n < SESSIONS; n += 1) {
    tally.requests++
    const headers = { ...page, ...JSON_TYPE }
    const body = JSON.stringify({ token })
    const answer = await client.send({ method: 'post', path: '/console/api/session', headers, body })
    cookies.push(String([answer.headers['set-cookie']].flat()[0]).split(';')[0] ?? '')
  }
  const live = await stage.db`select from console_sessions where company_id = ${id}`
  if (live.length > MOST_SESSIONS) tally.add('sessions beyond the bound', `${live.length} sessions of one key`)
  const ask = async (cookie: string): Promise<boolean> => {
    tally.requests++
    const headers = { ...page, cookie }
    return (await client.send({ method: 'get', path: '/console/api/session', headers })).status === 200
  }
  if (await ask(cookies.slice(-2).join('; '))) tally.add('answers to other sites', 'two session cookies are signed in')
  let answered = 0
  for (let n = 0; n < 2 * SESSION_REQUESTS; n += 1) {
    if (await ask(cookies.at(-1 - (n % MOST_SESSIONS)) ?? '')) answered += 1
  }
  if (answered > SESSION_REQUESTS)
    tally.add('sessions beyond the bound', `${answered} requests of all sessions in a minute`)
  await client.close()
}
