import { describe, expect, it } from 'vitest'
import { itemsOf, METADATA } from '../../../test/provider-items.ts'

type Json = Record<string, unknown>

const read = (
  field: string | undefined,
  value: unknown,
  body: Json = {},
  entry: Json = { id: '901', time: 1760000000 },
) => itemsOf(JSON.stringify({ ...body, entry: [{ ...entry, changes: [{ field, value }] }] }))

describe('the field decides the meaning', () => {
  const messages = [{ id: 'a', from: '1', type: 'text', text: { body: 'x' } }]

  it('absent, it is messages', () => {
    expect(read(undefined, { metadata: METADATA, messages })).toMatchObject([{ kind: 'message', field: null }])
  })

  it.each(['history', 'smb_app_state_sync'])('%s is ignored, messages in it or not', (field) => {
    expect(read(field, { metadata: METADATA, messages })).toMatchObject([{ kind: 'ignored', field }])
  })

  it.each([
    'calls',
    'something_new',
    'constructor',
  ])('%s is an event of the account without details, messages in it or not', (field) => {
    expect(read(field, { metadata: METADATA, messages })).toMatchObject([
      { kind: 'account-event', field, details: null },
    ])
  })

  it('standby has messages, echoes and statuses of a conversation that the agent of the provider holds', () => {
    const value = {
      metadata: METADATA,
      messages,
      message_echoes: [{ id: 'b', to: '1', type: 'text', text: { body: 'I am the agent' } }],
      statuses: [{ id: 'b', status: 'read' }],
    }
    expect(read('standby', value)).toMatchObject([
      { kind: 'message', isEcho: false },
      { kind: 'message', isEcho: true },
      { kind: 'status' },
    ])
  })

  it('standby may hold its lists in a member of that name, the echoes as requests of the send', () => {
    const echo = {
      id: 'b',
      timestamp: '1760000009',
      message: {
        messaging_product: 'whatsapp',
        to: '393331234567',
        recipient: 'IT.77',
        context: { message_id: 'a' },
        type: 'text',
        text: { body: 'I am the agent' },
      },
    }
    const offer = { type: 'button', body: { text: 'Yes or no?' }, action: { buttons: [] } }
    const question = { id: 'c', message: { recipient: 'IT.78', type: 'interactive', interactive: offer } }
    const standby = {
      contacts: [{ wa_id: '1', profile: { name: 'Ada' } }],
      messages: [{ id: 'a', from: '1', type: 'text', text: { body: 'Hi' } }],
      message_echoes: [echo, question],
      statuses: [{ id: 'b', status: 'read' }],
    }
    const items = read('standby', { metadata: METADATA, standby })
    expect(items).toMatchObject([
      { kind: 'message', isEcho: false, customer: { phone: '1', profileName: 'Ada' }, businessPhone: '49301234567' },
      {
        ...{ kind: 'message', isEcho: true, wamid: 'b', timestamp: 1760000009, text: 'I am the agent' },
        ...{ quotedWamid: 'a', opensWindow: false, customer: { phone: '393331234567', userId: 'IT.77' } },
      },
      { kind: 'message', isEcho: true, text: 'Yes or no?', customer: { phone: null, userId: 'IT.78' } },
      { kind: 'status', wamid: 'b' },
    ])
    expect(items.map(({ route }) => route)).toEqual(items.map(() => ({ by: 'sender', phoneNumberId: '555' })))
    const raw = items[1]!.raw()
    expect(JSON.parse(raw).entry[0].changes[0].value).toEqual({
      metadata: METADATA,
      standby: { contacts: standby.contacts, message_echoes: [echo] },
    })
    expect(itemsOf(raw)).toMatchObject([{ kind: 'message', isEcho: true, wamid: 'b', route: items[1]!.route }])
  })

  it.each<[string, Json, string]>([
    ['errors alone', { errors: [{ code: 131000 }] }, 'account-event'],
    ['nothing known', { user_actions: [{}] }, 'ignored'],
    ['messages that are no list', { messages: {} }, 'unreadable-item'],
  ])('messages with %s', (_name, value, kind) => {
    expect(read('messages', value)).toMatchObject([{ kind }])
  })
})

describe('the way to the company', () => {
  const list = [{ id: 'a', status: 'read', from: '1' }]
  const gupshup = { gs_app_id: 'app-1' }

  it.each<[string, string, Json, Json, Json, Json]>([
    [
      'a message by its number',
      'messages',
      { metadata: METADATA, messages: list },
      gupshup,
      { id: '901' },
      { by: 'sender', phoneNumberId: '555' },
    ],
    [
      'a number id above 2^53',
      'messages',
      { metadata: { phone_number_id: '90071992547409931' }, messages: list },
      {},
      {},
      { by: 'sender', phoneNumberId: '90071992547409931' },
    ],
    [
      "a message without number by Gupshup's app",
      'messages',
      { messages: list },
      gupshup,
      { id: '901' },
      { by: 'app', appId: 'app-1' },
    ],
    ['a message without either by nothing', 'messages', { messages: list }, {}, { id: '901' }, { by: 'nothing' }],
    [
      "a status without number by Gupshup's app",
      'messages',
      { statuses: list },
      gupshup,
      {},
      { by: 'app', appId: 'app-1' },
    ],
    [
      'a status without number by the account',
      'messages',
      { statuses: list },
      {},
      { id: '901' },
      { by: 'account', wabaAccountId: '901' },
    ],
    [
      'a template event by the account',
      'message_template_status_update',
      { event: 'APPROVED', message_template_id: 1 },
      gupshup,
      { id: 901 },
      { by: 'account', wabaAccountId: '901' },
    ],
    [
      "a template event without account by Gupshup's app",
      'message_template_status_update',
      { event: 'APPROVED', message_template_id: 1 },
      gupshup,
      {},
      { by: 'app', appId: 'app-1' },
    ],
  ])('%s', (_name, field, value, body, entry, route) => {
    expect(read(field, value, body, entry)[0]?.route).toEqual(route)
  })

  it('is exact where ids are numbers above 2^53', () => {
    const text =
      '{"entry":[{"id":12345678901234567890,"changes":[{"field":"message_template_status_update","value":{"event":"APPROVED","message_template_id":90071992547409931}}]}]}'
    expect(itemsOf(text)).toMatchObject([
      { route: { wabaAccountId: '12345678901234567890' }, templateId: '90071992547409931' },
    ])
  })
})
