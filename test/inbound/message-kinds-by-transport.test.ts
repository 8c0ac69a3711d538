import { describe, expect, test } from 'vitest'
import type { ProviderName } from '../../src/providers/provider-name.ts'
import { PROVIDER_NAMES } from '../../src/providers/provider-names.ts'
import { inboxOf, newWamid, providerOf } from '../provider-webhook.ts'
import { startTransports } from '../providers/transports-world.ts'
import { startReceiver } from '../receiver.ts'
import { eventually, uniquePhone } from '../service.ts'
import { ADDRESS, AT, AT_ISO, CALL, type PlatformMessage, TARGET } from './platform-message.ts'
import { PLATFORM_MESSAGES } from './platform-messages.ts'

const { service, connected } = await startTransports()
const provider = providerOf(service)
const receiver = await startReceiver()

// biome-ignore lint/suspicious/noExplicitAny: what a test reads from an answer is what it asserts
type Json = any

/** A plain text in the conversation, and in the envelope. */
const RECORD = {
  direction: 'inbound',
  type: 'text',
  text: 'Hello',
  media: null,
  reaction: null,
  status: 'received',
  error: null,
  pricing: null,
  senderName: 'Ada',
  timestamp: AT,
  timestampIso: AT_ISO,
  editedAt: null,
  revokedAt: null,
  content: null,
  quotedWamid: null,
  quotedMessageId: null,
  kind: 'text',
  reply: null,
  location: null,
  contacts: null,
  order: null,
  referral: null,
  forwarded: false,
  frequentlyForwarded: false,
  referredProduct: null,
  call: null,
  quoted: null,
}
const ENVELOPE = {
  type: 'text',
  text: 'Hello',
  isEcho: false,
  timestamp: AT,
  timestampIso: AT_ISO,
  reply: null,
  quotedWamid: null,
  originalWamid: null,
  groupId: null,
  referral: null,
  location: null,
  contacts: null,
  order: null,
  forwarded: false,
  frequentlyForwarded: false,
  referredProduct: null,
  call: null,
  error: null,
}

async function connect(name: ProviderName) {
  const company = await connected(name)
  const registration = { name: 'Receiver', url: receiver.url, events: ['whatsapp.message.received'] }
  expect((await company.api('POST', '/webhooks/registrations', registration)).status).toBe(201)
  return company
}
type Company = Awaited<ReturnType<typeof connect>>

/** The places of an example, and what stands in them. */
function filled<Value>(value: Value, places: Record<string, string>): Value {
  const text = Object.entries(places).reduce(
    (json, [place, content]) => json.replaceAll(place, content),
    JSON.stringify(value),
  )
  return JSON.parse(text)
}

const LISTS: Record<string, string> = { calls: 'calls', smb_message_echoes: 'message_echoes' }

/** A change as the transport posts it. */
function bodyOf(company: Company, name: ProviderName, field: string, items: object[], contact: object) {
  const metadata = { display_phone_number: '390655501234', phone_number_id: company.phoneNumberId }
  const value = { messaging_product: 'whatsapp', metadata, contacts: [contact], [LISTS[field] ?? 'messages']: items }
  const entry = [{ id: company.wabaAccountId, changes: [{ field, value }] }]
  return { object: 'whatsapp_business_account', ...(name === 'gupshup' && { gs_app_id: company.app.id }), entry }
}

/** Posts an example from a new customer; answers with its ids. */
async function post(company: Company, name: ProviderName, example: PlatformMessage) {
  const { field = 'messages', message, isAboutTarget, isOutbound, isHidden } = example
  const from = uniquePhone()
  const userId = `IT.${from}`
  const places = { [TARGET]: newWamid(), '<from>': from, '<business>': company.sender.phoneName }
  const id = field === 'calls' ? newWamid().replace('wamid', 'wacid') : newWamid()
  const named = isHidden
    ? { from_user_id: userId }
    : isOutbound
      ? { from: '390655501234', to: from }
      : { from, from_user_id: userId }
  const item = { ...named, id, timestamp: String(AT), ...filled(message, places) }
  const target = { ...named, id: places[TARGET], timestamp: String(AT - 60), type: 'text', text: { body: 'Hello' } }
  const contact = { profile: { name: 'Ada' }, user_id: userId, ...(!isHidden && { wa_id: from }) }
  if (isAboutTarget) await provider.report(bodyOf(company, name, 'messages', [target], contact))
  await provider.report(bodyOf(company, name, field, [item], contact))
  return { id, places: { ...places, [CALL]: id } }
}

async function recordOf(company: Company, wamid: string | undefined): Promise<Json> {
  const inbox = inboxOf(company)
  const [row] = await service.db<{ conversationId: number }[]>`
    select conversation_id from messages where (company_id, wamid) = (${company.companyId}, ${wamid ?? ''})
  `
  if (row === undefined) return undefined
  const chat = (await company.api('GET', `/whatsapp/conversations/${row.conversationId}`)).body.data
  const message = (await inbox.messages(row.conversationId)).find((one: Json) => one.wamid === wamid)
  const { id, wamid: _, ...members } = message
  if (members.media?.url) members.media.url = ADDRESS
  return { chat, members }
}

const envelopeOf = (wamid: string): Json =>
  receiver.received.map(({ body }) => JSON.parse(body.toString())).find(({ message }) => message.wamid === wamid)

describe.each(PROVIDER_NAMES)('%s', (name) => {
  const company = connect(name)

  test.each(PLATFORM_MESSAGES)('$name', async (example) => {
    const { field, record, envelope, isAboutTarget, referral = null } = example
    const { id, places } = await post(await company, name, example)
    const found = await recordOf(await company, isAboutTarget ? places[TARGET] : id)
    const at = isAboutTarget ? { timestamp: AT - 60, timestampIso: new Date((AT - 60) * 1000).toISOString() } : {}
    expect(found?.members).toEqual(record && { ...RECORD, ...at, ...filled(record, places) })
    if (record) expect(found.chat.referral).toEqual(referral)

    const event = (example.message as Json).event
    const eventId = field === 'calls' && event !== 'connect' ? `${id}.${event}` : id
    if (envelope === undefined) return expect(envelopeOf(eventId)).toBeUndefined()
    await eventually(() => Promise.resolve(envelopeOf(eventId) !== undefined), 60_000)
    const { wamid, ...members } = envelopeOf(eventId).message
    expect(members).toEqual({ ...ENVELOPE, ...filled(envelope, places) })
  })
})
