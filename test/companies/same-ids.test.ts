import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { TABLES } from '../../src/db/tables.ts'
import { completeJobs, enqueueJobs, renewJobs } from '../../src/queue/job-store.ts'
import { DELIVERIES } from '../../src/webhooks/deliveries/delivery-store.ts'
import { startReceiver } from '../receiver.ts'
import { eventually, startTestService, uniquePhone } from '../service.ts'

/**
 * Companies that were moved here from another installation know the same ids as others: every table whose key has the
 * company in it may hold one id for several companies.
 */
const service = await startTestService()
const { db } = service
const EVENTS = ['whatsapp.message.received']
/** Ids that are unique in the installation. */
const GLOBAL = ['erasures', ...TABLES.filter((table) => table.global !== undefined).map(({ name }) => name)]
const CUSTOMER = uniquePhone()

/** A slow receiver: deliveries of both companies with one id are in flight at the same time. */
const slow = (status: number) =>
  startReceiver((_, response) => setTimeout(() => response.writeHead(status).end(), 1_000))

/** Restarts every sequence of ids within a company. */
async function restartIds(): Promise<void> {
  const sequences = await db<{ name: string }[]>`
    select sequence.oid::regclass::text as name
    from pg_class sequence
    left join pg_depend owned on owned.objid = sequence.oid and owned.deptype in ('a', 'i')
    left join pg_class owner on owner.oid = owned.refobjid and owner.relkind in ('r', 'p')
    where sequence.relkind = 'S' and sequence.relnamespace = 'public'::regnamespace
      and coalesce(owner.relname, '') <> all (${GLOBAL}::text[])
  `
  expect(sequences.length).toBeGreaterThan(10)
  for (const { name } of sequences) await db.unsafe(`alter sequence ${name} restart`)
}

/** A company with one record of each kind, its first delivery on the way. */
async function live(url: string, text: string) {
  const company = await service.createCompany()
  const { api, phoneNumberId, companyId } = company
  const registration = await api('POST', '/webhooks/registrations', { name: 'Receiver', url, events: EVENTS })
  await api('POST', '/contacts', { email: 'ada@example.com', firstName: text })
  await api('POST', '/custom-fields', { key: 'SIZE', displayName: text, type: 'text' })
  await service.operator('PUT', `/companies/${companyId}/email-settings`, { from: 'shop@example.com' })
  const template = {
    name: 'order',
    subject: text,
    html: `<a href="https://example.com/">${text}</a>`,
    category: 'UTILITY',
  }
  await service.operator('POST', `/companies/${companyId}/email-templates`, template)
  const mail = { to: 'ada@example.com', subject: text, html: `<a href="https://example.com/">${text}</a>` }
  const email = await api('POST', '/emails', mail)
  expect(email.status).toBe(201)
  await service.control('POST', '/inbound', { phoneNumberId, from: CUSTOMER, type: 'text', text: { body: text } })
  await eventually(async () => (await idsOf(companyId, 'deliveries')).length === 1)
  return { ...company, text, registrationId: registration.body.id as number, emailId: email.body.data.id as string }
}

const idsOf = async (companyId: number, table: string): Promise<number[]> => {
  const rows = await db<{ id: number }[]>`select id from ${db(table)} where company_id = ${companyId} order by id`
  return rows.map(({ id }) => id)
}

test('companies whose ids are the same in every table keep their data and the outcomes of their deliveries apart', async () => {
  const [takes, refuses] = [await slow(200), await slow(500)]
  await restartIds()
  const one = await live(takes.url, 'one')
  await restartIds()
  const other = await live(refuses.url, 'other')
  const tables = [
    'senders',
    'registrations',
    'contacts',
    'conversations',
    'messages',
    'custom_fields',
    'email_templates',
    'emails',
    'deliveries',
  ]
  for (const table of tables) {
    expect([table, await idsOf(one.companyId, table)]).toEqual([table, await idsOf(other.companyId, table)])
  }
  await eventually(async () => takes.received.length === 1 && refuses.received.length === 1)

  const logsOf = async ({ api, registrationId }: typeof one) =>
    (await api('GET', `/webhooks/registrations/${registrationId}/logs`)).body
  const [delivered] = await eventually(async () => (await logsOf(one)).length > 0 && (await logsOf(one)), 20_000)
  const [failed] = await eventually(async () => (await logsOf(other)).length > 0 && (await logsOf(other)), 20_000)
  expect([delivered.statusCode, failed.statusCode]).toEqual([200, 500])
  expect([delivered.payload.message.text, failed.payload.message.text]).toEqual(['one', 'other'])
  const statuses = await db`select company_id, status, attempts from deliveries order by company_id`
  expect(statuses).toEqual([
    { companyId: one.companyId, status: 'delivered', attempts: 1 },
    { companyId: other.companyId, status: 'pending', attempts: 1 },
  ])

  for (const company of [one, other]) {
    const { api, text } = company
    const [conversation] = (await api('GET', '/whatsapp/conversations')).body.data
    const messages = (await api('GET', `/whatsapp/conversations/${conversation.chatId}/messages`)).body.data
    expect(messages.map((message: { text: string }) => message.text)).toEqual([text])
    const field = (await api('GET', '/custom-fields')).body
    expect(JSON.stringify(field)).toContain(`"${text}"`)
    const reply = await api('POST', '/templates/whatsapp/send', {
      recipient: CUSTOMER,
      type: 'text',
      text: `to ${text}`,
    })
    expect(reply.status).toBe(200)
    await eventually(async () => {
      const [email] = await db`select status from emails where company_id = ${company.companyId}`
      return email?.status === 'sent'
    })
  }
  // A status names its message by the provider's id and its company by the number.
  const [sent] = await db`select wamid from messages where company_id = ${one.companyId} and direction = 'outbound'`
  await service.control('POST', '/status', { wamid: sent?.wamid, status: 'read' })
  const outbound = () => db`select status from messages where direction = 'outbound' order by company_id`
  await eventually(async () => (await outbound())[0]?.status === 'read')
  expect((await outbound())[1]?.status).toBe('sent')
  await one.api('DELETE', `/webhooks/registrations/${one.registrationId}`)
  expect((await other.api('GET', `/webhooks/registrations/${other.registrationId}`)).status).toBe(200)
}, 300_000)

test('leases of two deliveries with one id are renewed and completed each by its own claim', async () => {
  const companies = [
    await service.createCompany({ isConnected: false }),
    await service.createCompany({ isConnected: false }),
  ]
  const claims = companies.map(() => randomUUID())
  const id = 1_000_000_000 * Math.floor(Date.now() / 86_400_000) + 900_000_000
  for (const [place, { companyId }] of companies.entries()) {
    await db`
      insert into deliveries (company_id, id, registration_id, event, event_id, claim_id, lease_until)
      values (${companyId}, ${id}, 1, 'e', 'w', ${claims[place]!}, now() + interval '10 s')
    `
  }
  const held = claims.map((claimId) => ({ id, claimId }))
  expect(await renewJobs(db, held, 60_000, DELIVERIES)).toEqual(new Set())
  const renewed = await db`select 1 from deliveries where id = ${id} and lease_until > now() + interval '30 s'`
  expect(renewed).toHaveLength(2)
  await db`update deliveries set claim_id = ${randomUUID()} where (company_id, id) = (${companies[0]!.companyId}, ${id})`
  await db`update deliveries set lease_until = now() + interval '10 s' where id = ${id}`
  expect(await renewJobs(db, held, 60_000, DELIVERIES)).toEqual(new Set([claims[0]]))
  const leases = await db`
    select lease_until > now() + interval '30 s' as is_renewed from deliveries where id = ${id} order by company_id
  `
  expect(leases).toEqual([{ isRenewed: false }, { isRenewed: true }])
  await completeJobs(db, held, DELIVERIES)
  const rows = await db`select company_id, status from deliveries where id = ${id} order by company_id`
  expect(rows.map(({ status }) => status)).toEqual(['pending', 'skipped'])
})

test('a subject that has a job once has it once in each company', async () => {
  const job = (companyId: number) => ({ kind: 'once', lane: String(companyId), companyId, subjectId: 7, once: true })
  expect(await enqueueJobs(db, [job(1), job(2), job(2)])).toBe(2)
  expect(await enqueueJobs(db, [job(2), job(3)])).toBe(1)
  const none = { kind: 'once', lane: 'none', subjectId: 7, once: true }
  expect(await enqueueJobs(db, [none, none])).toBe(1)
  expect(await enqueueJobs(db, [none])).toBe(0)
  await db`delete from jobs where kind = 'once'`
})
