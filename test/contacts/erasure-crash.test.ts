import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { ADMIN_TOKEN } from '../api.ts'
import { createTestDatabase } from '../database.ts'
import { endBlocked, holdOpen, untilBlocked } from '../held-locks.ts'
import { dataFolder, startParley } from '../parley-process.ts'
import { eventually } from '../service.ts'
import { createSender, expireLeases } from '../world.ts'

const MESSAGES = 10_000

test('a process that is killed in the middle of an erasure: the next one completes it, and knows the opt-out', {
  timeout: 300_000,
}, async () => {
  const { db, url } = await createTestDatabase()
  const encryptionKey = randomBytes(32).toString('base64')
  const env = { DATABASE_URL: url, DATA_DIR: dataFolder(), ADMIN_TOKEN, ENCRYPTION_KEY: encryptionKey }
  const first = await startParley(env)
  const call = async (address: string, method: string, path: string, body: object | undefined, token: string) => {
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }
    const response = await fetch(`${address}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    // biome-ignore lint/suspicious/noExplicitAny: what the test asserts
    return { status: response.status, body: (await response.json()) as any }
  }
  const company = await call(first.address, 'POST', '/admin/v1/companies', { name: 'Acme' }, ADMIN_TOKEN)
  const companyId: number = company.body.id
  const keys = `/admin/v1/companies/${companyId}/api-keys`
  const key = await call(first.address, 'POST', keys, { name: 'Key', permissions: ['WhatsApp'] }, ADMIN_TOKEN)
  const api = (address: string, method: string, path: string, body?: object) =>
    call(address, method, `/public/v1${path}`, body, key.body.token)

  const person = { email: 'ada@example.com', phone: '447700900100', marketingConsent: { email: false } }
  const created = await api(first.address, 'POST', '/contacts', person)
  const contactId: number = created.body.data[0].id
  await writeMessages(contactId)

  const countLeft = async () => {
    const [row] = await db<{ left: number }[]>`
      select count(*)::integer as left from messages where text like 'secret%'
    `
    return row!.left
  }
  // The erasure waits for this message in its middle, however late the test looks.
  const held = `select from messages where company_id = ${companyId} and seq = ${MESSAGES / 10} for update`
  const release = await holdOpen(db, held)
  const interrupted = api(first.address, 'DELETE', `/contacts/${contactId}?erase=true`).then(
    ({ status }) => status,
    () => 'no answer',
  )
  await untilBlocked(db)
  await first.signal('SIGKILL')
  await endBlocked(db)
  await release()
  // A request is answered after three seconds, and its erasure goes on without it.
  expect(['no answer', 200]).toContain(await interrupted)
  const left = await countLeft()
  expect(left).toBeGreaterThan(0)
  expect(left).toBeLessThan(MESSAGES)

  await expireLeases(db)
  const second = await startParley(env)
  await eventually(async () => (await countLeft()) === 0, 120_000)
  const again = await api(second.address, 'DELETE', `/contacts/${contactId}?erase=true`)
  expect([again.status, again.body]).toEqual([404, { message: 'Contact not found' }])
  const { marketingConsent: _, ...same } = person
  const returned = await api(second.address, 'POST', '/contacts', same)
  expect(returned.body.data[0].marketing_consent).toEqual({ email: false, whatsapp: null })
  await second.signal('SIGTERM')

  async function writeMessages(id: number): Promise<void> {
    const senderId = await createSender(db, companyId)
    const [conversation] = await db<{ id: number }[]>`
      with customer as (
        insert into customers (company_id, contact_id) values (${companyId}, ${id}) returning id
      ), identity as (
        insert into customer_identities (company_id, customer_id, identity, reported_at)
        select ${companyId}, id, '447700900100', now() from customer
      )
      insert into conversations (company_id, sender_id, customer_id, message_count)
      select ${companyId}, ${senderId}, id, ${MESSAGES} from customer
      returning id
    `
    await db`
      insert into messages (company_id, conversation_id, seq, direction, type, text, status, wamid)
      select ${companyId}, ${conversation!.id}, n, 'inbound', 'text', 'secret ' || n, 'received', 'wamid.' || n
      from generate_series(1, ${MESSAGES}) as n
    `
  }
})
