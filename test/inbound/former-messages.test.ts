import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { sweepContents } from '../../src/inbound/handling/content-sweep.ts'
import { eventReader } from '../../src/wiring/events/event-reader.ts'
import { inboxOf, newWamid, providerOf, textFrom } from '../provider-webhook.ts'
import { type Receiver, startReceiver } from '../receiver.ts'
import { eventually, startTestService, type TestService, uniquePhone } from '../service.ts'

type Company = Awaited<ReturnType<TestService['createCompany']>>

let service: TestService
let provider: ReturnType<typeof providerOf>
let receiver: Receiver
beforeAll(async () => {
  receiver = await startReceiver()
  service = await startTestService({ config: { webhookAllowPrivate: true } })
  provider = providerOf(service)
  // The pass of the service itself is over.
  await eventually(async () => (await service.db`select from content_passes where ended_at is not null`).length === 1)
})
afterAll(() => receiver.close())

beforeEach(async () => {
  await service.db`delete from content_passes`
  await service.db`update migrations set applied_at = now() where name = '0067_content_passes.sql'`
})

const sweep = (signal = new AbortController().signal) => sweepContents({ db: service.db, events: eventReader }, signal)

/** Lets another process continue a pass that was left. */
const leave = () => service.db`update content_passes set started_at = now() - interval '11 minutes'`

async function createReceiving(): Promise<Company> {
  const company = await service.createCompany()
  const registration = { name: newWamid(), url: receiver.url, events: ['whatsapp.message.received'] }
  expect((await company.api('POST', '/webhooks/registrations', registration)).status).toBe(201)
  return company
}

const item = (id: string) => ({ product_retailer_id: id, quantity: 1, item_price: 9.5, currency: 'EUR' })
const received = (from: string, type: string, content: unknown) => ({
  ...textFrom(from, ''),
  ...{ text: undefined, type, [type]: content },
})
const orderFrom = (from: string) =>
  received(from, 'order', { catalog_id: '1', text: '', product_items: [item('mug'), item('cup')] })

/** The rows as earlier versions stored them. */
const storeFormer = () => service.db`update messages set kind = null, content = null, context = null, error = null`

const rowsOf = ({ companyId }: Company) =>
  service.db`select to_jsonb(message) as row from messages message where company_id = ${companyId} order by id`

test('messages stored without kind and content are shown as new ones are', async () => {
  const company = await createReceiving()
  const from = uniquePhone()
  await provider.messages(
    company.phoneNumberId,
    textFrom(from, 'Hello'),
    textFrom(from, 'From an ad', { referral: { source_type: 'ad', source_id: '1', headline: 'Mugs' } }),
    received(from, 'sticker', { id: '1', mime_type: 'image/webp' }),
    received(from, 'location', { latitude: 41.9, longitude: 12.5, name: 'raw', raw: { a: '","raw":' } }),
    received(from, 'contacts', [{ name: { formatted_name: 'Mara' }, phones: [{ phone: '+39 333' }] }]),
    received(from, 'button', { text: 'Yes', payload: 'y' }),
    received(from, 'interactive', { type: 'list_reply', list_reply: { id: 'blue', title: 'Blue' } }),
    { ...textFrom(from, ''), text: undefined, type: 'unsupported', errors: [{ code: 131051, title: 'Unsupported' }] },
    orderFrom(from),
  )
  const inbox = inboxOf(company)
  const { chatId, lastMessage } = await inbox.find(from)
  const [rows, messages] = [await rowsOf(company), await inbox.messages(chatId)]
  await storeFormer()
  expect((await inbox.find(from)).lastMessage).toMatchObject({ text: '[order]', kind: 'text' })

  await sweep()
  expect(await rowsOf(company)).toEqual(rows)
  expect(await inbox.messages(chatId)).toEqual(messages)
  expect((await inbox.find(from)).lastMessage).toEqual(lastMessage)
})

test('a sweep that was killed goes on, with each company at its own messages', async () => {
  const from = uniquePhone()
  const companies = [await createReceiving(), await createReceiving()]
  const wamid = newWamid()
  for (const [place, { phoneNumberId }] of companies.entries()) {
    const location = { latitude: place, longitude: place }
    await provider.messages(phoneNumberId, { ...received(from, 'location', location), id: wamid })
  }
  const before = await Promise.all(companies.map(rowsOf))
  await storeFormer()
  const former = await Promise.all(companies.map(rowsOf))

  // It ends at its first pause, after the first company with envelopes.
  await sweep(AbortSignal.abort())
  expect(await service.db`select from content_passes where ended_at is null`).toHaveLength(1)
  expect(await rowsOf(companies[1]!)).toEqual(former[1])
  await sweep()
  expect(await rowsOf(companies[1]!)).toEqual(former[1])
  await leave()
  await sweep()
  expect(await Promise.all(companies.map(rowsOf))).toEqual(before)
})

test('edits, revokes, receipts and messages of this version stay as they are', async () => {
  const company = await createReceiving()
  const from = uniquePhone()
  const [edited, revoked] = [orderFrom(from), orderFrom(from)]
  await provider.messages(company.phoneNumberId, edited, revoked)
  await storeFormer()
  const changeOf = (type: string, id: string, more: object = {}) => ({
    ...textFrom(from, ''),
    ...{ text: undefined, type, [type]: { original_message_id: id, ...more } },
  })
  const news = { type: 'text', text: { body: 'changed' } }
  await provider.messages(
    company.phoneNumberId,
    changeOf('edit', edited.id, { message: news }),
    changeOf('revoke', revoked.id),
  )
  const sent = await company.api('POST', '/templates/whatsapp/send', { type: 'text', recipient: from, text: 'Thanks' })
  expect(sent.status).toBe(200)
  const isSent = async () => (await rowsOf(company)).some(({ row }) => row.status === 'sent')
  await eventually(isSent)
  const before = await rowsOf(company)
  const events = () => service.db`select * from message_status_events where company_id = ${company.companyId}`
  const receipts = await events()

  await sweep()
  const [first, ...others] = await rowsOf(company)
  expect(first!.row).toEqual({ ...before[0]!.row, kind: 'order', content: first!.row.content })
  expect(first!.row).toMatchObject({ text: 'changed', content: { type: 'order' } })
  expect(others).toEqual(before.slice(1))
  expect(others[0]!.row).toMatchObject({ text: '[revoked]', content: null, kind: null })
  expect(await events()).toEqual(receipts)
})

test('messages that came later than a day after the upgrade, or whose envelope is gone, stay as they are', async () => {
  const company = await createReceiving()
  const [later, gone] = [orderFrom(uniquePhone()), orderFrom(uniquePhone())]
  await provider.messages(company.phoneNumberId, later, gone)
  await storeFormer()
  await service.db`delete from envelopes where event_id = ${gone.id}`
  await service.db`update messages set created_at = now() + interval '25 hours' where wamid = ${later.id}`
  const before = await rowsOf(company)
  await sweep()
  expect(await rowsOf(company)).toEqual(before)
})
