import { randomInt } from 'node:crypto'
import { Readable } from 'node:stream'
import { expect } from 'vitest'
import { writeSuppression } from '../../src/emails/suppression/suppression.ts'
import { newStorageKey } from '../../src/media/blobs/blob-store.ts'
import { removeDiscarded } from '../../src/media/discarded/discarded-file-store.ts'
import { insertMedia, markStored } from '../../src/media/media-store.ts'
import { advanceErasure } from '../../src/personal-data/erase-contact.ts'
import { emailKey } from '../../src/platform/text/email-address.ts'
import { createErasureDeps } from '../../src/wiring/feature-deps.ts'
import { MAIL, startMailing, uniqueAddress } from '../emails/email-world.ts'
import { bodyOf, changeOf, newWamid, providerOf, secondsNow, textFrom } from '../provider-webhook.ts'
import { startReceiver } from '../receiver.ts'
import { eventually, uniquePhone } from '../service.ts'
import { tracesOf } from './traces.ts'

type World = Awaited<ReturnType<typeof startErasures>>
type Company = Awaited<ReturnType<World['createCompany']>>
type Person = Awaited<ReturnType<World['createPerson']>>

/** Wamids of the provider hold the phone number in base64. */
const wamidOf = (phone: string) => `wamid.${Buffer.from(`${phone} ${newWamid()}`).toString('base64')}`

export const textsOf = ({ phone, email, userId, word }: Person) => [phone, email, userId, word]

export const erase = ({ api }: Pick<Company, 'api'>, id: number) => api('DELETE', `/contacts/${id}?erase=true`)

/** Companies with a receiver, persons of whom every table has something, and their erasure. Call it at the top of a file. */
export async function startErasures() {
  const service = await startMailing({ webhookAllowPrivate: true })
  const { createCompany, operator, call, url, db, deps, folder, untilCompleted, get } = service
  const provider = providerOf(service)
  const erasing = createErasureDeps(deps)

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
    await say(
      textFrom(phone, `In the group ${word}`, { group_id: 'group-1', id: wamidOf(phone), from_user_id: userId }),
    )
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
    // The list is discarded after the import has completed.
    await eventually(async () => {
      await removeDiscarded(deps, new AbortController().signal)
      const left = await db`
        select from contact_imports where company_id = ${companyId} and storage_key is not null
        union all
        select from discarded_files where company_id = ${companyId}
      `
      return left.length === 0
    })
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
  return { db, get, provider, createCompany, erasing, createShop, createPerson, placesOf, complete }
}
