import { describe, expect, test } from 'vitest'
import type { ProviderName } from '../../src/providers/provider-name.ts'
import { PROVIDER_NAMES } from '../../src/providers/provider-names.ts'
import { eventually, uniquePhone } from '../service.ts'
import { SEND, startTransports } from './transports-world.ts'

// What each transport offers, and what the sandbox refuses in its place. docs/sending.md has the same in words.
const { service, connected } = await startTransports()
const { control } = service
const numbers = Object.fromEntries(
  await Promise.all(
    PROVIDER_NAMES.map(async (provider) => [provider, await connected(provider, { directSend: true })]),
  ),
) as Record<ProviderName, Awaited<ReturnType<typeof connected>>>
for (const { wabaAccountId } of Object.values(numbers))
  await control('PUT', `/accounts/${wabaAccountId}`, { directSend: true })

const link = 'https://example.com/file'
const body = { text: 'Is Friday fine?' }
const button = (title: string) => ({ type: 'reply', reply: { id: title, title } })
const rows = (count: number) => Array.from({ length: count }, (_, id) => ({ id: String(id), title: `Row ${id}` }))
const interactive = (type: string, action: object, more: object = {}) => ({ type, body, action, ...more })
const cta = (display_text: string) => ({ name: 'cta_url', parameters: { display_text, url: 'https://example.com' } })
const flow = (flow_cta: string) => ({
  name: 'flow',
  parameters: { flow_message_version: '3', flow_id: '1', flow_cta },
})
const card = { name: { formatted_name: 'Ada Rossi', first_name: 'Ada' } }

/** Of each type: what Parley is asked to send, and a body beyond the limits, which the provider refuses. */
const TYPES: [name: string, content: object, tooMuch: object][] = [
  ['text', { type: 'text', text: 'Hello' }, { text: { body: 'x'.repeat(4_097) } }],
  ['image', { type: 'image', media: { link } }, { image: { link, caption: 'x'.repeat(1_025) } }],
  ['video', { type: 'video', media: { link } }, { video: { link, id: '1' } }],
  ['audio', { type: 'audio', media: { link } }, { audio: { link, caption: 'x' } }],
  ['document', { type: 'document', media: { link } }, { document: { link, filename: 'x'.repeat(241) } }],
  ['sticker', { type: 'sticker', media: { link } }, { sticker: { link, caption: 'x' } }],
  [
    'reply buttons',
    { type: 'interactive', interactive: interactive('button', { buttons: [button('Yes')] }) },
    { interactive: interactive('button', { buttons: ['a', 'b', 'c', 'd'].map(button) }) },
  ],
  [
    'list',
    { type: 'interactive', interactive: interactive('list', { button: 'Days', sections: [{ rows: rows(10) }] }) },
    { interactive: interactive('list', { button: 'Days', sections: [{ rows: rows(11) }] }) },
  ],
  [
    'call to action',
    { type: 'interactive', interactive: interactive('cta_url', cta('Go')) },
    { interactive: interactive('cta_url', cta('x'.repeat(21))) },
  ],
  [
    'location request',
    { type: 'interactive', interactive: interactive('location_request_message', { name: 'send_location' }) },
    { interactive: interactive('location_request_message', { name: 'other' }) },
  ],
  [
    'contact request',
    { type: 'interactive', interactive: interactive('request_contact_info', { name: 'request_contact_info' }) },
    { interactive: interactive('request_contact_info', { name: 'other' }) },
  ],
  [
    'flow',
    { type: 'interactive', interactive: interactive('flow', flow('Book')) },
    { interactive: interactive('flow', flow('x'.repeat(31))) },
  ],
  [
    'location',
    { type: 'location', location: { latitude: 45, longitude: 9 } },
    { location: { latitude: 91, longitude: 9 } },
  ],
  ['contacts', { type: 'contacts', contacts: [card] }, { contacts: [{ name: {} }] }],
  [
    'template',
    { type: 'template', template: { name: 'parcel_left' } },
    { template: { name: 'none', language: { code: 'it' } } },
  ],
  [
    'text with a category',
    { type: 'text', text: 'Hello', category: 'utility' },
    { text: { body: 'x' }, ttl_seconds: 60 },
  ],
]

async function openWindow(provider: ProviderName) {
  const number = numbers[provider]
  const from = uniquePhone()
  const input = { phoneNumberId: number.phoneNumberId, from, type: 'text', text: { body: 'Hi' } }
  const { wamid } = (await control('POST', '/inbound', input)).body
  const [message] = await eventually(async () => {
    const rows = await service.db`
      select id from messages where company_id = ${number.companyId} and wamid = ${wamid}
    `
    return rows.length > 0 && rows
  })
  return { from, messageId: Number(message!.id) }
}

describe.each(PROVIDER_NAMES)('%s', (provider) => {
  const number = numbers[provider]

  test.each(TYPES)('takes %s', async (_, content) => {
    const { from: recipient } = await openWindow(provider)
    const { status, body: answer } = await number.api('POST', SEND, { recipient, ...content })
    expect([status, answer.error]).toEqual([200, undefined])
  })

  test('takes reaction', async () => {
    const { from: recipient, messageId } = await openWindow(provider)
    const reaction = { type: 'reaction', reaction: { messageId, emoji: '👍' } }
    expect((await number.api('POST', SEND, { recipient, ...reaction })).status).toBe(200)
  })

  test.each(TYPES)('is played by the sandbox, which refuses too much of %s', async (_, {
    type,
  }: { type?: string }, tooMuch) => {
    const sender = (await service.deps.senders.listFor(number.companyId))[0]!
    const message = { messaging_product: 'whatsapp', to: uniquePhone(), type, ...tooMuch }
    const outcome = await service.deps.providers[provider]!.send(sender, JSON.stringify(message))
    expect(outcome).toMatchObject({ kind: 'refused', error: { code: expect.any(Number) } })
  })
})
