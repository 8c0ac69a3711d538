import { expect, test } from 'vitest'
import { bodyOf, changeOf, newWamid, textFrom } from '../provider-webhook.ts'
import { startReceiver } from '../receiver.ts'
import { eventually, uniquePhone } from '../service.ts'
import { startInbound } from './inbound-world.ts'

const { service, company, provider, inbox } = await startInbound({ mirrors: true })
const receiver = await startReceiver()
const registration = { name: 'Receiver', url: receiver.url, events: ['whatsapp.message.received'] }
expect((await company.api('POST', '/webhooks/registrations', registration)).status).toBe(201)

const AT = 1_772_443_800
const iso = (seconds: number) => new Date(seconds * 1000).toISOString()
const newCall = () => {
  const [id, from] = [newWamid().replace('wamid', 'wacid'), uniquePhone()]
  const shared = { id, from, to: '390000000', direction: 'USER_INITIATED' }
  const connect = { ...shared, event: 'connect', timestamp: String(AT), session: { sdp_type: 'offer', sdp: 'v=0' } }
  const end = { ...shared, event: 'terminate', timestamp: String(AT + 60), status: 'COMPLETED' }
  const answered = { ...end, start_time: String(AT + 5), end_time: String(AT + 60), duration: 55 }
  return { id, from, connect, missed: end, answered }
}
const report = (...calls: object[]) =>
  provider.report(bodyOf(changeOf(company.phoneNumberId, { calls, contacts: [{ profile: { name: 'Ada' } }] }, 'calls')))
const shown = async (from: string) => inbox.messages((await inbox.find(from)).chatId)
const delivered = (id: string) =>
  receiver.received
    .map(({ body }) => JSON.parse(body.toString()).message)
    .filter(({ wamid }: { wamid: string }) => wamid.startsWith(id))

test('the events of a call make one message, and receivers get each event once', async () => {
  const { id, from, connect, missed } = newCall()
  await report(connect)
  expect(await shown(from)).toMatchObject([
    {
      wamid: id,
      direction: 'inbound',
      type: 'text',
      kind: 'call',
      text: '[call]',
      status: 'received',
      content: { type: 'call', call: { direction: 'inbound', status: 'ringing', startedAt: iso(AT), endedAt: null } },
    },
  ])
  expect(await inbox.find(from)).toMatchObject({ unreadMessages: 1, lastMessage: { kind: 'call' } })
  await report(missed)
  await report(missed, connect)
  const call = { direction: 'inbound', status: 'missed', startedAt: iso(AT), endedAt: iso(AT + 60) }
  expect(await shown(from)).toMatchObject([{ wamid: id, content: { type: 'call', call }, call }])
  expect(await inbox.find(from)).toMatchObject({ unreadMessages: 1 })
  await eventually(async () => delivered(id).length === 2, 60_000)
  expect(delivered(id)).toMatchObject([
    { wamid: id, type: 'call', originalWamid: null, call: { status: 'ringing' } },
    { wamid: `${id}.terminate`, type: 'call', originalWamid: id, call },
  ])
})

test.each([
  ['in one body', (connect: object, end: object) => report(connect, end)],
  ['in the opposite order', (connect: object, end: object) => report(end, connect)],
  [
    'in the opposite order of bodies',
    async (connect: object, end: object) => {
      await report(end)
      await report(connect)
    },
  ],
])('an answered call whose events come %s', async (_, post) => {
  const { from, connect, answered } = newCall()
  await post(connect, answered)
  const call = { status: 'completed', startedAt: iso(AT + 5), endedAt: iso(AT + 60) }
  expect(await shown(from)).toMatchObject([{ kind: 'call', call }])
})

test('a call opens no window', async () => {
  const { from, connect } = newCall()
  await report({ ...connect, timestamp: String(Math.floor(Date.now() / 1000)) })
  expect((await inbox.find(from)).window).toEqual({ isOpen: false, closesAt: null })
  const send = await company.api('POST', '/templates/whatsapp/send', { recipient: from, type: 'text', text: 'x' })
  expect([send.status, send.body.error.code]).toEqual([422, 'session_window_closed'])
})

test('a call re-opens the conversation, and one of the business answers it', async () => {
  const { from, connect } = newCall()
  await provider.messages(company.phoneNumberId, textFrom(from, 'Please call me'))
  const { chatId } = await inbox.find(from)
  await company.api('PATCH', `/whatsapp/conversations/${chatId}`, { status: 'closed' })
  await report(connect)
  expect(await inbox.find(from)).toMatchObject({ chatId, status: 'open', unreadMessages: 2 })
  await report({ ...newCall().connect, from: '390000000', to: from, direction: 'BUSINESS_INITIATED' })
  expect(await inbox.find(from)).toMatchObject({ chatId, unreadMessages: 0, lastMessage: { direction: 'outbound' } })
})

test('the erasure of a customer erases the calls and their events', async () => {
  const { id, from, connect, missed } = newCall()
  await report(connect)
  await report(missed)
  const contact = (await inbox.find(from)).contact
  expect((await company.api('DELETE', `/contacts/${contact.id}?erase=true`)).status).toBe(200)
  const [left] = await service.db<[{ messages: number; envelopes: number }]>`
    select
      (select count(*) from messages where company_id = ${company.companyId} and wamid = ${id})::integer as messages,
      (
        select count(*) from envelopes where company_id = ${company.companyId} and event_id like ${`${id}%`}
      )::integer as envelopes
  `
  expect(left).toEqual({ messages: 0, envelopes: 0 })
  await report(missed)
  expect(await inbox.find(from)).toBeUndefined()
})
