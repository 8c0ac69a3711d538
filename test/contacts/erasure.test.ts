import { randomInt } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { writeSuppression } from '../../src/emails/suppression/suppression-store.ts'
import { newStorageKey } from '../../src/media/blobs/blob-store.ts'
import { removeDiscarded } from '../../src/media/discarded/remove-discarded.ts'
import { insertMedia, markStored } from '../../src/media/media-store.ts'
import { eraseContact } from '../../src/personal-data/erase-contact.ts'
import { advanceErasure } from '../../src/personal-data/erase-job.ts'
import { PERSONAL_DATA } from '../../src/personal-data/personal-data.ts'
import { emailKey } from '../../src/platform/text/email-address.ts'
import { createErasureDeps } from '../../src/wiring/contact-deps.ts'
import { MAIL, startMailing, uniqueAddress } from '../emails/email-world.ts'
import { bodyOf, changeOf, inboxOf, newWamid, providerOf, secondsNow, textFrom } from '../provider-webhook.ts'
import { startReceiver } from '../receiver.ts'
import { eventually, uniquePhone } from '../service.ts'
import { tracesOf } from './traces.ts'

const service = await startMailing({ webhookAllowPrivate: true })
const { createCompany, operator, call, url, db, deps, folder, untilCompleted, get } = service
const provider = providerOf(service)
const erasing = createErasureDeps(deps)

type Company = Awaited<ReturnType<typeof createCompany>>

/** Answers what it was posted. */
const receiver = await startReceiver((_, response) => response.end(receiver.received.at(-1)?.body))

async function createShop() {
  const company = await createCompany()
  await operator('PUT', `/companies/${company.companyId}/email-settings`, { from: 'shop@example.org' })
  const registration = await company.api('POST', '/webhooks/registrations', {
    name: 'Receiver',
    url: receiver.url,
    events: ['whatsapp.message.received'],
  })
  return { ...company, registrationId: registration.body.id as number }
}

type Shop = Awaited<ReturnType<typeof createShop>>

/** Wamids of the provider hold the phone number in base64. */
const wamidOf = (phone: string) => `wamid.${Buffer.from(`${phone} ${newWamid()}`).toString('base64')}`

/** A person of whom every table that may hold personal data has something. */
async function createPerson(shop: Shop) {
  const { api, companyId, phoneNumberId } = shop
  const phone = uniquePhone()
  const userId = `IT.${randomInt(1e12)}`
  const email = uniqueAddress()
  const word = `secret${randomInt(1e12)}`
  const headers = { 'idempotency-key': `signup ${email}` }
  const body = {
    email,
    phone,
    firstName: word,
    tags: [word],
    customFields: { note: word },
    marketingConsent: { email: false },
  }
  const created = await api('POST', '/contacts', body, headers)
  expect(created.status).toBe(200)
  const { id } = created.body.data[0]
  await api('PUT', `/contacts/${id}`, { marketingConsent: { whatsapp: true } })

  const first = textFrom(phone, `Hello ${word}`, { id: wamidOf(phone), from_user_id: userId })
  const contacts = [{ wa_id: phone, user_id: userId, profile: { name: word } }]
  const say = (...messages: object[]) => provider.report(bodyOf(changeOf(phoneNumberId, { contacts, messages })))
  await say(first)
  await say({ ...textFrom(phone, ''), type: 'reaction', reaction: { message_id: first.id, emoji: '👍' } })
  await say({
    ...textFrom(phone, ''),
    type: 'edit',
    edit: { original_message_id: first.id, message: { type: 'text', text: { body: `Edited ${word}` } } },
  })
  await say(textFrom(phone, `In the group ${word}`, { group_id: 'group-1', id: wamidOf(phone), from_user_id: userId }))
  const image = {
    ...textFrom(phone, ''),
    id: wamidOf(phone),
    type: 'image',
    image: { id: '42', mime_type: 'image/png', caption: word },
  }
  await say(image)
  const storageKey = await storeMedia(companyId, image.id, word)

  const sent = await api(
    'POST',
    '/templates/whatsapp/send',
    { type: 'text', recipient: phone, text: `Answer ${word}` },
    { 'idempotency-key': word },
  )
  expect([sent.status, sent.text]).toEqual([200, expect.anything()])
  await provider.statuses(phoneNumberId, {
    id: sent.body.data.wamid,
    status: 'failed',
    recipient_id: phone,
    timestamp: String(secondsNow()),
    errors: [{ code: 131000, title: `It failed for ${phone}` }],
  })

  const sendAt = new Date(Date.now() + 86_400_000).toISOString()
  const later = { type: 'text', recipient: phone, text: `Later ${word}`, sendAt }
  expect((await api('POST', '/templates/whatsapp/send', later)).status).toBe(202)

  const mail = await api('POST', '/emails', {
    ...MAIL,
    to: email.replace('ada', 'Ada'),
    subject: word,
    html: `<a href="https://shop.example/${word}">${word}</a>`,
  })
  await untilCompleted(api, mail.body.data.id)
  const [arrived] = await service.received(email.slice(3))
  for (const path of service.linksOf(arrived.html).clicks) await get(path)
  const detail = `${email}: ${word}`
  await writeSuppression(db, shop.companyId, { address: emailKey(email), reason: 'bounce', detail })

  const authorization = `Bearer ${shop.key.token}`
  const list = `email,phone,first_name\nnot an address,+${phone.slice(0, 2)} ${phone.slice(2, 5)}-${phone.slice(5)},${word}\n`
  const taken = await call(url, 'POST', '/public/v1/contacts/import', list, {
    authorization,
    'content-type': 'text/csv',
  })
  await eventually(async () => {
    const { body } = await api('GET', `/contacts/imports/${taken.body.data.id}`)
    return body.data.status === 'completed' && body.data.refused === 1
  })
  await removeDiscarded(deps, new AbortController().signal)
  await db`
    insert into inbound_items (state, reason, phone_number_id, body, received_at)
    values ('failed', 'of the test', ${phoneNumberId}, ${Buffer.from(JSON.stringify(first))}, now())
  `
  const scope = `sender:${shop.sender.channelId}`
  await db`insert into daily_limits (company_id, scope) values (${companyId}, ${scope}) on conflict do nothing`
  await db`
    insert into daily_limit_entries (company_id, scope, customer_id, message_id, counted_at)
    select ${companyId}, ${scope}, customers.id, 0, now()
    from customers
    where (company_id, contact_id) = (${companyId}, ${id})
    on conflict do nothing
  `
  await eventually(async () => {
    const rows = await db`
      select from deliveries where company_id = ${companyId} and status <> 'delivered' limit 1
    `
    return rows.length === 0
  })
  return { id, phone, email, userId, word, storageKey, body, headers, chatId: sent.body.data.chatId }
}

type Person = Awaited<ReturnType<typeof createPerson>>

/** As if the media had been copied from the provider. */
async function storeMedia(companyId: number, wamid: string, word: string): Promise<string> {
  const [message] = await db<
    { id: number }[]
  >`select id from messages where (company_id, wamid) = (${companyId}, ${wamid})`
  const messageId = message!.id
  const storageKey = newStorageKey(companyId)
  await db`delete from media where (company_id, message_id) = (${companyId}, ${messageId})`
  await insertMedia(db, [{ companyId, messageId, storageKey }])
  const body = Readable.from([Buffer.from(`bytes of ${word}`)])
  const kept = await deps.blobStore.put(storageKey, body, { mimeType: 'image/png', maxBytes: 1_000 })
  await markStored(db, companyId, messageId, { ...kept, mimeType: 'image/png' })
  return storageKey
}

const placesOf = (texts: readonly string[]) => tracesOf({ db, folder }, texts)

const textsOf = ({ phone, email, userId, word }: Person) => [phone, email, userId, word]

const erase = ({ api }: Pick<Company, 'api'>, id: number) => api('DELETE', `/contacts/${id}?erase=true`)

/** As if the time until the second pass had passed. */
async function complete(companyId: number, id: number) {
  await db`
    update erasures set requested_at = requested_at - interval '1 hour' where (company_id, contact_id) = (${companyId}, ${id})
  `
  await advanceErasure(erasing, companyId, id, new AbortController().signal)
  const [row] =
    await db`select subject, completed_at from erasures where (company_id, contact_id) = (${companyId}, ${id})`
  expect(row).toEqual({ subject: null, completedAt: expect.any(Date) })
}

test('every table states whether it holds personal data', async () => {
  const rows = await db<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
  `
  expect(rows.map(({ name }) => name).sort()).toEqual(Object.keys(PERSONAL_DATA).sort())
})

describe('DELETE /contacts/{id}?erase=true', () => {
  test('leaves nothing of an erased person in any table or file, and everything of others', {
    timeout: 300_000,
  }, async () => {
    const shop = await createShop()
    const other = await createPerson(shop)
    const before = await placesOf(textsOf(other))
    const person = await createPerson(shop)
    const found = await placesOf(textsOf(person))
    const searched = Object.entries(PERSONAL_DATA).flatMap(([table, kind]) => (kind === 'erased' ? [table] : []))
    // Hold a person's data only under ids, or not at this moment.
    const unreached = [
      'consents',
      'daily_limit_entries',
      'delivery_attempts',
      // test/contacts/erasure-envelopes.test.ts
      'envelope_people',
      'waiting_statuses',
      'email_contents',
      'erasures',
      'inbound_bodies',
      'jobs',
      'email_clicks',
      'media',
      // test/sends/media-uploads.test.ts
      'uploads',
    ]
    expect([...found, ...unreached].sort()).toEqual(expect.arrayContaining(searched))

    const erased = await erase(shop, person.id)
    expect([erased.status, erased.body]).toEqual([200, { success: true }])
    expect(await placesOf(textsOf(person))).toEqual([])

    await complete(shop.companyId, person.id)
    expect(await placesOf(textsOf(person))).toEqual([])
    expect(await placesOf(textsOf(other))).toEqual(before)
  })

  test('keeps the pages of a conversation and the rows of the delivery log, without their contents', {
    timeout: 300_000,
  }, async () => {
    const shop = await createShop()
    const person = await createPerson(shop)
    const inbox = inboxOf(shop)
    const before = await inbox.messages(person.chatId)
    const log = async () =>
      (await shop.api('GET', `/webhooks/registrations/${shop.registrationId}/logs`)).body as { payload: object }[]
    const rows = (await log()).length
    expect(rows).toBeGreaterThan(0)
    await erase(shop, person.id)

    const after = await inbox.messages(person.chatId)
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id))
    expect(after.map(({ text, media, reaction }) => ({ text, media, reaction }))).toEqual(
      after.map(() => ({ text: '[erased]', media: null, reaction: null })),
    )
    const [conversation] = (await inbox.list()).filter(({ chatId }) => chatId === person.chatId)
    expect(conversation).toMatchObject({ contact: { phone: null, name: null }, lastMessage: { text: '[erased]' } })
    expect((await log()).map(({ payload }) => payload)).toEqual(Array(rows).fill({}))
  })

  test('an opt-out outlives the person as a keyed hash, until a later opt-in', async () => {
    const { api, companyId } = await createCompany({ isConnected: false })
    const email = uniqueAddress()
    const create = async (consent?: boolean) => {
      const marketingConsent = consent === undefined ? {} : { marketingConsent: { email: consent } }
      return (await api('POST', '/contacts', { email, ...marketingConsent })).body.data[0]
    }
    await erase({ api }, (await create(false)).id)
    const consents = () => db<{ identity: string; value: boolean; contactId: number | null }[]>`
      select identity, value, contact_id from consents where company_id = ${companyId}
    `
    expect([...(await consents())]).toEqual([
      { identity: expect.stringMatching(/^hash:[0-9a-f]{64}$/), value: false, contactId: null },
    ])

    const second = await create()
    expect(second.marketing_consent).toEqual({ email: false, whatsapp: null })
    await erase({ api }, second.id)
    expect(await consents()).toHaveLength(1)
    expect((await create(true)).marketing_consent.email).toBe(true)
    expect((await create()).marketing_consent.email).toBe(true)
  })

  test('a person who writes again is a new contact in a new conversation', { timeout: 300_000 }, async () => {
    const shop = await createShop()
    const person = await createPerson(shop)
    await erase(shop, person.id)
    await provider.messages(shop.phoneNumberId, textFrom(person.phone, 'Hello again'))
    await complete(shop.companyId, person.id)
    const conversation = await inboxOf(shop).find(person.phone)
    expect(conversation.chatId).not.toBe(person.chatId)
    expect(conversation.contact.id).not.toBe(person.id)
    expect(await inboxOf(shop).texts(person.phone)).toEqual(['Hello again'])
  })

  test('a repeated request whose answer was erased takes no effect again', { timeout: 300_000 }, async () => {
    const shop = await createShop()
    const person = await createPerson(shop)
    await erase(shop, person.id)
    const repeated = await shop.api('POST', '/contacts', person.body, person.headers)
    expect([repeated.status, repeated.body.error.code]).toEqual([422, 'idempotency_key_reused'])
    expect((await shop.api('GET', `/contacts/by-email/${person.email}`)).status).toBe(404)
  })

  test('ends the same when it is killed in the middle and started again', { timeout: 300_000 }, async () => {
    const shop = await createShop()
    const person = await createPerson(shop)
    let kills = 0
    const endEmailJobs = async () => {
      kills += 1
      throw new Error('killed')
    }
    // The request dies after the first mails; the job of the service goes on.
    await eraseContact({ ...erasing, endEmailJobs, onFailure: () => {} }, shop.companyId, person.id)
    expect(kills).toBe(1)
    expect(await placesOf([person.word])).not.toEqual([])
    await eventually(async () => (await placesOf(textsOf(person))).length === 0, 40_000)
    await complete(shop.companyId, person.id)
    expect(await placesOf(textsOf(person))).toEqual([])
  })

  test('erases all rows while files cannot be deleted, which wait unreadable until they can', {
    timeout: 300_000,
  }, async () => {
    const shop = await createShop()
    const person = await createPerson(shop)
    const mediaUrl = await shop
      .api('GET', `/whatsapp/conversations/${person.chatId}/messages`)
      .then(({ body }) => body.data.find((one: { media: object | null }) => one.media !== null).media.url as string)
    expect((await get(new URL(mediaUrl).pathname)).status).toBe(200)
    const failures: unknown[] = []
    const remove = () => Promise.reject(new Error('AccessDenied'))
    await eraseContact(
      { ...erasing, blobStore: { remove }, onFailure: (error) => failures.push(error) },
      shop.companyId,
      person.id,
    )
    expect(failures).toEqual([new Error('AccessDenied')])
    expect(await placesOf(textsOf(person))).toEqual([person.storageKey])
    expect((await get(new URL(mediaUrl).pathname)).status).toBe(404)
    expect(await db`select attempts from discarded_files where storage_key = ${person.storageKey}`).toEqual([
      { attempts: 1 },
    ])

    await complete(shop.companyId, person.id)
    await db`update discarded_files set due_at = now() where storage_key = ${person.storageKey}`
    await eventually(async () => (await placesOf(textsOf(person))).length === 0, 40_000)
    expect(await db`select from discarded_files where storage_key = ${person.storageKey}`).toHaveLength(0)
  })

  test('another company’s contact, an erased and a missing one answer alike; a deleted one can be erased', async () => {
    const mine = await createCompany({ isConnected: false })
    const theirs = await createCompany({ isConnected: false })
    const email = uniqueAddress()
    const created = await theirs.api('POST', '/contacts', { email })
    const { id } = created.body.data[0]
    const missing = await erase(mine, 999_999_999)
    expect([missing.status, missing.body]).toEqual([404, { message: 'Contact not found' }])
    const foreign = await erase(mine, id)
    expect([foreign.status, foreign.text]).toEqual([missing.status, missing.text])
    expect((await theirs.api('GET', `/contacts/${id}`)).status).toBe(200)

    expect((await theirs.api('DELETE', `/contacts/${id}`)).status).toBe(200)
    expect(await placesOf([email])).toEqual(['contacts'])
    expect((await erase(theirs, id)).status).toBe(200)
    expect(await placesOf([email])).toEqual([])
    expect((await erase(theirs, id)).text).toEqual(missing.text)
  })

  test('data that another living contact shares with the person stays', { timeout: 300_000 }, async () => {
    const { api } = await createCompany({ isConnected: false })
    const phone = uniquePhone()
    const [first, second] = [uniqueAddress(), uniqueAddress()]
    const { body } = await api('POST', '/contacts', { email: first, phone })
    await api('POST', '/contacts', { email: second })
    const other = await api('GET', `/contacts/by-email/${second}`)
    await api('PUT', `/contacts/${other.body.data.id}`, { phone })
    await erase({ api }, body.data[0].id)
    expect(await placesOf([first])).toEqual([])
    expect((await api('GET', `/contacts/by-email/${second}`)).body.data.phone).toBe(`+${phone}`)
  })
})

describe('GET /contacts/{id}/archive', () => {
  const lines = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; data: Record<string, unknown> })

  test('answers everything stored about a contact, and nothing of others', { timeout: 300_000 }, async () => {
    const shop = await createShop()
    const other = await createPerson(shop)
    const person = await createPerson(shop)
    const archive = await shop.api('GET', `/contacts/${person.id}/archive`)
    expect([archive.status, archive.headers.get('content-type')]).toEqual([200, 'application/x-ndjson; charset=utf-8'])
    const rows = lines(archive.text)
    expect(rows).toContainEqual({
      type: 'scheduled_message',
      data: expect.objectContaining({ recipient: person.phone, text: `Later ${person.word}` }),
    })
    const of = (type: string) => rows.filter((row) => row.type === type).map(({ data }) => data)

    expect(rows[0]).toMatchObject({
      type: 'contact',
      data: { id: person.id, email: person.email, phone: person.phone },
    })
    expect(of('consent')).toMatchObject([
      { channel: 'email', identity: `mailto:${person.email}`, value: false },
      { channel: 'whatsapp', identity: person.phone, value: true },
    ])
    expect(of('conversation')).toMatchObject([{ id: person.chatId }])
    expect(of('message').map(({ text }) => text)).toEqual(
      expect.arrayContaining([
        `Edited ${person.word}`,
        `In the group ${person.word}`,
        `Answer ${person.word}`,
        person.word,
      ]),
    )
    expect(of('message').some(({ media }) => media !== null)).toBe(true)
    expect(of('delivery').length).toBeGreaterThanOrEqual(5)
    expect(of('email')).toMatchObject([{ subject: person.word }])
    expect(of('import_refusal')).toHaveLength(1)
    expect(of('failed_event')).toHaveLength(1)
    expect(of('daily_limit')).toHaveLength(1)
    for (const text of textsOf(other)) expect(archive.text).not.toContain(text)
    expect(archive.text).not.toContain(person.storageKey)
  })

  test('another company’s contact and an erased one answer as a missing one', async () => {
    const mine = await createCompany({ isConnected: false })
    const theirs = await createCompany({ isConnected: false })
    const { body } = await theirs.api('POST', '/contacts', { email: uniqueAddress() })
    const { id } = body.data[0]
    const missing = await mine.api('GET', '/contacts/999999999/archive')
    expect([missing.status, missing.body]).toEqual([404, { message: 'Contact not found' }])
    expect((await mine.api('GET', `/contacts/${id}/archive`)).text).toBe(missing.text)
    await erase(theirs, id)
    expect((await theirs.api('GET', `/contacts/${id}/archive`)).text).toBe(missing.text)
  })
})
