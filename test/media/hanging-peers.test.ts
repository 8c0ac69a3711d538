import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sampleOf } from '../../sandbox/world/sample-media.ts'
import { openBucketBlobStore } from '../../src/media/blobs/bucket-blob-store.ts'
import { exportCompany, importCompany, releaseCompany } from '../../src/moves/move-company.ts'
import { listLifetimes } from '../../src/personal-data/lifetimes/lifetimes.ts'
import { startMailServer } from '../emails/mail-server.ts'
import { startPeer } from '../receiver.ts'
import { eventually, startTestService, uniquePhone } from '../service.ts'
import { createTestFolder } from '../temporary-folder.ts'
import { startProviderGate } from './provider-gate.ts'
import { startStandInBucket } from './stand-in-bucket.ts'

// Peers that never answer: while calls wait for them, no session of the database may have a transaction open.

const SEND = '/templates/whatsapp/send'
const OUTSIDE = 'https://files.example.com/a.jpg'
/** Longer than any statement of a transaction takes, and shorter than every call to a peer waits. */
const IDLE_SECONDS = 1

const bucket = await startStandInBucket()
const mail = { isHanging: false, sessions: 0 }
const mailServer = await startMailServer({
  behave: () => {
    if (!mail.isHanging) return undefined
    mail.sessions += 1
    return 'hang'
  },
})
const receiver = await startPeer(() => {})
const service = await startTestService({
  blobStore: await openBucketBlobStore(bucket.url, await createTestFolder()),
  config: { smtpUrl: mailServer.url, webhookAllowPrivate: true, messageDays: 30 },
})
const { call, control, createCompany, db, deps, operator, url } = service
const { gate, url: providerUrl } = await startProviderGate(service.sandbox.url)
afterAll(() => mailServer.stop())

type Company = Awaited<ReturnType<typeof createCompany>>
let company: Company
let chatId: number
let recipient: string
let storedUrl: string

beforeAll(async () => {
  company = await createCompany({ sender: { apiBaseUrl: providerUrl } })
  recipient = uniquePhone()
  await control('POST', '/inbound', { phoneNumberId: company.phoneNumberId, from: recipient, type: 'image' })
  const message = await eventually(async () => {
    const [row] = await db`select message_id from media where company_id = ${company.companyId} and state = 'stored'`
    return row
  })
  const [chat] = await db`select id from conversations where company_id = ${company.companyId}`
  chatId = Number(chat!.id)
  const { body } = await company.api('GET', `/whatsapp/conversations/${chatId}/messages`)
  const found = body.data.find(({ id }: { id: number }) => id === Number(message.messageId))
  storedUrl = found.media.url.replace(/^https?:\/\/[^/]+/, '')
}, 120_000)

const picture = () => Buffer.concat([sampleOf('image/png').bytes, randomBytes(32)])

async function upload(bytes = picture()): Promise<string> {
  const headers = { authorization: `Bearer ${company.key.token}`, 'content-type': 'application/octet-stream' }
  const body = new Uint8Array(bytes)
  const answer = await fetch(`${url}/public/v1/whatsapp/media`, { method: 'POST', headers, body })
  return ((await answer.json()) as { data?: { mediaId: string } }).data?.mediaId ?? ''
}

const bring = (list: string) => {
  const headers = { authorization: `Bearer ${company.key.token}`, 'content-type': 'text/csv' }
  return call(url, 'POST', '/public/v1/contacts/import', list, headers)
}

/** What exists before the peers fall silent. */
async function prepare() {
  const [first, second, third, due] = await Promise.all([upload(), upload(), upload(), upload()])
  const events = ['whatsapp.message.received']
  const registration = await company.api('POST', '/webhooks/registrations', { name: 'Shop', url: receiver.url, events })
  expect([registration.status, registration.body.error]).toEqual([201, undefined])
  const registrationId: number = registration.body.data?.id ?? registration.body.id
  const template = `t${randomBytes(4).toString('hex')}`
  const components = [{ type: 'BODY', text: 'Your table is ready.' }]
  const created = await company.api('PUT', `/templates/whatsapp/${template}/it`, { category: 'UTILITY', components })
  expect(created.status).toBe(201)
  const scheduled = await company.api('POST', SEND, {
    recipient,
    type: 'template',
    template: { name: 'shipping_notice' },
    sendAt: new Date(Date.now() + 3_600_000).toISOString(),
  })
  expect(scheduled.status).toBe(202)
  const erased = uniquePhone()
  await control('POST', '/inbound', { phoneNumberId: company.phoneNumberId, from: erased, type: 'image' })
  await eventually(async () => {
    const rows = await db`
      select from media join messages message on (message.company_id, message.id) = (media.company_id, media.message_id)
      join conversations chat on (chat.company_id, chat.id) = (message.company_id, message.conversation_id)
      join customers customer on (customer.company_id, customer.id) = (chat.company_id, chat.customer_id)
      where customer.phone = ${erased} and media.state = 'stored'
    `
    return rows.length > 0
  })
  const [person] = await db`
    select contact_id from customers where company_id = ${company.companyId} and phone = ${erased}
  `
  return { first, second, third, due, template, registrationId, personId: person!.contactId }
}

type Prepared = Awaited<ReturnType<typeof prepare>>

/** Every journey that calls a peer. None has to succeed. */
const journeys = ({
  first,
  second,
  third,
  due,
  template,
  personId,
  registrationId,
}: Prepared): Record<string, () => Promise<unknown>> => {
  const { api, companyId, phoneNumberId } = company
  const reply = `/whatsapp/conversations/${chatId}/messages`
  return {
    'a send of a text': () => api('POST', SEND, { recipient, type: 'text', text: 'Hi' }),
    'a send of a link': () => api('POST', SEND, { recipient, type: 'image', media: { link: OUTSIDE } }),
    'a send of a file': () => api('POST', SEND, { recipient, type: 'image', media: { mediaId: first } }),
    'a send under a key': () =>
      api('POST', SEND, { recipient, type: 'text', text: 'Hi' }, { 'idempotency-key': randomBytes(8).toString('hex') }),
    'a reply of a text': () => api('POST', reply, { type: 'text', text: 'Hi' }),
    'a reply of a file': () => api('POST', reply, { type: 'image', media: { mediaId: second } }),
    'a read receipt': () => api('POST', `/whatsapp/conversations/${chatId}/read`),
    'a typing indicator': () => api('POST', `/whatsapp/conversations/${chatId}/typing`),
    'an upload': () => upload(),
    'a refused upload': () => upload(Buffer.from([0, 1, 2, 3])),
    'a media download': () => call(url, 'GET', storedUrl),
    'an inbound file': () => control('POST', '/inbound', { phoneNumberId, from: uniquePhone(), type: 'image' }),
    'a new template': () =>
      api('PUT', `/templates/whatsapp/t${randomBytes(4).toString('hex')}/it`, {
        category: 'UTILITY',
        components: [
          { type: 'HEADER', format: 'IMAGE', example: { mediaId: third } },
          { type: 'BODY', text: 'Your table is ready.' },
        ],
      }),
    'a deleted template': () => api('DELETE', `/templates/whatsapp/${template}`),
    'a template sync': () => operator('POST', `/companies/${companyId}/templates/sync`),
    'a new number': () => service.connectSender(companyId, { apiBaseUrl: providerUrl } as object),
    'an erasure': () => api('DELETE', `/contacts/${personId}?erase=true`),
    'an expired upload': async () => {
      await db`update uploads set due_at = now() where company_id = ${companyId} and id = ${due}`
    },
    'every expiry': () =>
      Promise.allSettled(listLifetimes(deps).map(({ expire }) => expire(AbortSignal.timeout(10_000)))),
    'a mail': () =>
      api('POST', '/emails', { to: 'ada@example.com', subject: 'Hi', html: '<p>Hi</p>', from: 'a@example.org' }),
    'a scheduled message': async () => {
      await db`update scheduled_messages set send_at = now() where company_id = ${companyId}`
      await db`update jobs set due_at = now() where company_id = ${companyId} and kind = 'message.send'`
    },
    'a delivery': () =>
      control('POST', '/inbound', { phoneNumberId, from: recipient, type: 'text', text: { body: 'Hi' } }),
    'a test delivery': () => api('POST', `/webhooks/registrations/${registrationId}/test`),
    'a contact import from a file': () => bring('email\nada@example.com\n'),
    'a refused import': () => bring('nothing\nada@example.com\n'),
    'the archive of a person': () => api('GET', `/contacts/${personId}/archive`),
  }
}

/** Reports sessions that were seen twice in the same transaction, idle for longer than allowed. */
function watchSessions() {
  const idle = new Map<string, string>()
  const found = new Set<string>()
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      const rows = await db<{ key: string; query: string }[]>`
        select pid::text || xact_start::text as key, query
        from pg_stat_activity
        where datname = current_database() and state like 'idle in transaction%'
          and state_change < clock_timestamp() - make_interval(secs => ${IDLE_SECONDS})
      `
      for (const { key, query } of rows) if (idle.has(key)) found.add(query)
      idle.clear()
      for (const { key, query } of rows) idle.set(key, query)
      await sleep(200)
    }
  })()
  return async () => {
    isOver = true
    await watching
    return [...found]
  }
}

const settle = async () => {
  bucket.mode.current = 'ok'
  mail.isHanging = false
  gate.open()
  bucket.endUnanswered()
  mailServer.dropAll()
}

/** Every kind of call that the provider gets. */
const PROVIDER_CALLS = [
  'DELETE /#/message_templates',
  'GET /#',
  'GET /#/message_templates',
  'GET /#/phone_numbers',
  'POST /#/media',
  'POST /#/messages',
  'POST /app/uploads',
]

test.each([
  {
    name: 'a silent bucket',
    fallSilent: () => {
      bucket.mode.current = 'hangs'
    },
    notReached: () => ['GET', 'PUT', 'DELETE'].filter((method) => !bucket.unanswered.includes(method)),
  },
  {
    name: 'a silent provider, mail server and receiver',
    fallSilent: () => {
      gate.isHanging = true
      mail.isHanging = true
    },
    notReached: () => [
      ...PROVIDER_CALLS.filter((call) => !gate.unanswered.has(call)),
      ...(mail.sessions > 0 ? [] : ['mail server']),
      ...(receiver.opened() > 0 ? [] : ['receiver']),
    ],
  },
])('$name keeps no transaction open', async ({ fallSilent, notReached }) => {
  const prepared = await prepare()
  fallSilent()
  const end = watchSessions()
  let idle: string[]
  const running = Promise.allSettled(Object.values(journeys(prepared)).map((journey) => journey()))
  try {
    await expect.poll(notReached).toEqual([])
    // Long enough for the watch; no call has given up by then.
    await sleep(3 * IDLE_SECONDS * 1_000)
  } finally {
    idle = await end()
    await settle()
  }
  const outcomes = await running
  expect(idle).toEqual([])
  expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([])
})

test('a silent bucket keeps no transaction of an export or import of a company open', async () => {
  const { companyId, phoneNumberId } = await createCompany({ sender: { apiBaseUrl: providerUrl } })
  await control('POST', '/inbound', { phoneNumberId, from: uniquePhone(), type: 'image' })
  await eventually(async () => {
    const rows = await db`select from media where company_id = ${companyId} and state = 'stored'`
    return rows.length > 0
  })
  const move = { ...deps, encryptionKeys: [randomBytes(32).toString('base64')], deliveryLogDays: 30 }
  const file = join(await createTestFolder(), 'company')
  const transfer = { file, passphrase: 'long enough for a move', cachedSeconds: 0 }
  const withSilentBucket = async (method: string, work: () => Promise<unknown>) => {
    bucket.unanswered.length = 0
    bucket.mode.current = 'hangs'
    const end = watchSessions()
    const working = work()
    await eventually(async () => bucket.unanswered.includes(method))
    await sleep(3 * IDLE_SECONDS * 1_000)
    const idle = await end()
    await settle()
    expect(idle).toEqual([])
    await working
  }
  await withSilentBucket('GET', () => exportCompany(move, companyId, transfer))
  await releaseCompany(move, companyId)
  // The call that is not answered fails; the file is noted, and its company unknown.
  await withSilentBucket('PUT', () => expect(importCompany(move, transfer)).rejects.toThrow())
  expect(await importCompany(move, transfer)).toMatchObject({ companyId })
})
