import { describe, expect, test } from 'vitest'
import { TABLES } from '../../src/db/tables.ts'
import { eraseContact } from '../../src/personal-data/erase-contact.ts'
import { uniqueAddress } from '../emails/email-world.ts'
import { inboxOf, textFrom } from '../provider-webhook.ts'
import { eventually, uniquePhone } from '../service.ts'
import { erase, startErasures, textsOf } from './erasure-world.ts'

const { db, get, provider, createCompany, erasing, createShop, createPerson, placesOf, complete } =
  await startErasures()

describe('DELETE /contacts/{id}?erase=true', () => {
  test('leaves nothing of an erased person in any table or file, and everything of others', {
    timeout: 300_000,
  }, async () => {
    const shop = await createShop()
    const other = await createPerson(shop)
    const before = await placesOf(textsOf(other))
    const person = await createPerson(shop)
    const found = await placesOf(textsOf(person))
    const searched = TABLES.filter(({ personal }) => personal === 'erased').map(({ name }) => name)
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
    // The sweep deletes the row after the file.
    await eventually(
      async () => (await db`select from discarded_files where storage_key = ${person.storageKey}`).length === 0,
    )
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
