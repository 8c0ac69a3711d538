import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import outboundSchema from '../../sandbox/outbound-message.schema.json' with { type: 'json' }
import { startTransports } from '../providers/transports-world.ts'
import { eventually, uniquePhone } from '../service.ts'

export type Connected = Awaited<ReturnType<Awaited<ReturnType<typeof startTransports>>['connected']>>

const isOutbound = new Ajv2020({ strict: false }).compile(outboundSchema)

export const body = { text: 'Is the size right?' }

export const buttons = (...titles: string[]) => ({
  type: 'button',
  body,
  action: { buttons: titles.map((title) => ({ type: 'reply', reply: { id: title.toLowerCase(), title } })) },
})

export const link = 'https://example.com/shoe.jpg'

export const list = {
  type: 'list',
  header: { type: 'text', text: 'Delivery' },
  body: { text: 'When?' },
  footer: { text: 'Free of charge' },
  action: {
    button: 'Choose a day',
    sections: [
      { title: 'This week', rows: [{ id: 'fri', title: 'Friday', description: '9 to 12' }] },
      { title: 'Next week', rows: [{ id: 'mon', title: 'Monday' }] },
    ],
  },
}

export const INTERACTIVE: [string, { type: string; body: { text: string }; [member: string]: unknown }][] = [
  ['reply buttons', buttons('Yes', 'No')],
  ['reply buttons below an image', { ...buttons('Yes'), header: { type: 'image', image: { link } } }],
  ['a list', list],
  [
    'a call to action',
    {
      type: 'cta_url',
      body,
      action: { name: 'cta_url', parameters: { display_text: 'Track it', url: 'https://example.com/1042' } },
    },
  ],
  ['a location request', { type: 'location_request_message', body, action: { name: 'send_location' } }],
  ['a contact request', { type: 'request_contact_info', body, action: { name: 'request_contact_info' } }],
  [
    'a flow',
    {
      type: 'flow',
      body,
      action: {
        name: 'flow',
        parameters: {
          flow_message_version: '3',
          flow_id: '1197715005513101',
          flow_cta: 'Book',
          flow_token: 'order-1042',
          flow_action: 'navigate',
          flow_action_payload: { screen: 'DAY', data: { days: ['fri'] } },
        },
      },
    },
  ],
]

export const place = { latitude: 45.4641, longitude: 9.1919, name: 'Duomo', address: 'Piazza del Duomo, Milano' }

export const cards = [
  {
    name: { formatted_name: 'Ada Rossi', first_name: 'Ada' },
    phones: [{ phone: '+39 333 1234567', wa_id: '393331234567', type: 'WORK' }],
    emails: [{ email: 'ada@example.com' }],
    org: { company: 'Rossi Shoes' },
    birthday: '1985-12-10',
  },
]

export async function shown(number: Connected, chatId: number, messageId: number) {
  const { body: answer } = await number.api('GET', `/whatsapp/conversations/${chatId}/messages/${messageId}`)
  return answer.data.message
}

/** A service with a number of each provider. */
export async function startSending() {
  // Interactive messages, locations, contacts, reactions and quotes, on every transport.
  const { service, connected } = await startTransports()
  /** A message of a customer, which opens the window. */
  async function written(number: Connected, from = uniquePhone(), more: object = {}) {
    const given = { phoneNumberId: number.phoneNumberId, from, type: 'text', text: { body: 'Hi' }, ...more }
    const { wamid } = (await service.control('POST', '/inbound', given)).body
    const row = await eventually(async () => {
      const rows = await service.db`
      select id, conversation_id from messages where company_id = ${number.companyId} and wamid = ${wamid}
    `
      return rows[0] as { id: number; conversationId: number } | undefined
    })
    return { from, wamid: wamid as string, messageId: Number(row.id), chatId: Number(row.conversationId) }
  }
  /** The last request that the provider accepted for a recipient; valid by its schema. */
  async function takenBy(recipient: string) {
    const answer = await service.control('GET', '/messages?limit=500')
    const found = answer.body.find((message: { to: string }) => message.to === recipient)
    expect(isOutbound(found?.body), JSON.stringify(isOutbound.errors)).toBe(true)
    return found
  }
  return { service, connected, written, takenBy }
}
