import { describe, expect, it } from 'vitest'
import { eventReader } from '../../wiring/events/event-reader.ts'
import { buildEnvelope, isForwardable } from './message-received.ts'

const CHANNEL = { companyId: 7, provider: 'meta', phoneNumber: '+49 30 1234567', channelId: 3 } as const

const envelopesOf = (body: string, channel: Parameters<typeof buildEnvelope>[1] = CHANNEL): string[] => {
  const parsed = eventReader.parse(body)
  return parsed.kind === 'items' ? parsed.items.filter(isForwardable).map((item) => buildEnvelope(item, channel)) : []
}
const around = (value: string) =>
  `{"object":"whatsapp_business_account","entry":[{"id":"901","changes":[{"field":"messages","value":{${value}}}]}]}`
const META = '"metadata":{"display_phone_number":"4930777","phone_number_id":"555"}'

const ABSENT = {
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

describe('the envelope', () => {
  it('of a text has every member in the order of the specification', () => {
    const raw = around(
      `${META},"contacts":[{"wa_id":"491","profile":{"name":"Ida"},"user_id":"DE.1"}],"messages":[{"from":"491","id":"w1","timestamp":"1760000000","type":"text","text":{"body":"Hi"}}]`,
    )
    expect(envelopesOf(raw)).toEqual([
      `{"version":"1","event":"whatsapp.message.received","companyId":7,"channel":{"provider":"meta","phoneNumber":"49301234567","channelId":3},"contact":{"phone":"491","name":"Ida","userId":"DE.1"},"message":{"wamid":"w1","type":"text","text":"Hi","isEcho":false,"timestamp":1760000000,"timestampIso":"2025-10-09T08:53:20.000Z","reply":null,"quotedWamid":null,"originalWamid":null,"groupId":null,"referral":null,"forwarded":false,"frequentlyForwarded":false,"referredProduct":null,"location":null,"contacts":null,"order":null,"call":null,"error":null},"raw":${raw}}`,
    ])
  })

  it('of a sticker says image, and has media without an address', () => {
    const [text = ''] = envelopesOf(
      around(
        '"messages":[{"id":"w1","type":"sticker","sticker":{"id":"7","mime_type":"image/webp","url":"https://x"}}]',
      ),
    )
    expect(JSON.parse(text).message).toEqual({
      wamid: 'w1',
      type: 'image',
      text: '[sticker]',
      media: {
        kind: 'image',
        mimeType: 'image/webp',
        filename: null,
        caption: null,
        voice: false,
        providerMediaId: '7',
      },
      isEcho: false,
      timestamp: null,
      timestampIso: null,
      ...ABSENT,
    })
  })

  it('of a reaction has null text, and null emoji when it was removed', () => {
    const [text = ''] = envelopesOf(around('"messages":[{"id":"w1","type":"reaction","reaction":{"message_id":"w0"}}]'))
    expect(JSON.parse(text).message).toMatchObject({
      type: 'reaction',
      text: null,
      reaction: { targetWamid: 'w0', emoji: null },
    })
    expect(text).not.toContain('"media"')
  })

  it('names the number of the event where ours is not known', () => {
    const body = around(`${META},"messages":[{"id":"w1","type":"text"}]`)
    const [text = ''] = envelopesOf(body, { ...CHANNEL, phoneNumber: null, channelId: null })
    expect(JSON.parse(text).channel).toEqual({ provider: 'meta', phoneNumber: '4930777', channelId: null })
  })

  it('is not made for notices of the provider', () => {
    expect(
      envelopesOf(around('"messages":[{"id":"w1","type":"system"},{"id":"w2","type":"request_welcome"}]')),
    ).toEqual([])
  })
})

describe('in addition to text and media, the envelope', () => {
  const messageOf = (message: object) => {
    const body = around(`${META},"messages":[${JSON.stringify({ id: 'w1', from: '1', ...message })}]`)
    return JSON.parse(envelopesOf(body)[0]!).message
  }
  const reply = { id: null, title: null, payload: null, responseJson: null }
  const interactive = (type: string, answer: object) => ({ type: 'interactive', interactive: { type, [type]: answer } })
  const order = { catalog_id: '7', product_items: [{ product_retailer_id: 'a', quantity: 2, item_price: 9.5 }] }
  const contacts = [{ name: { formatted_name: 'Ida' }, phones: [{ phone: '+49 1', wa_id: '491' }] }]

  it.each<[string, object, object]>([
    [
      'a button',
      interactive('button_reply', { id: 'b', title: 'Yes' }),
      { reply: { ...reply, id: 'b', title: 'Yes' } },
    ],
    ['a list', interactive('list_reply', { id: 'r', title: 'Row' }), { reply: { ...reply, id: 'r', title: 'Row' } }],
    [
      "a template's button",
      { type: 'button', button: { text: 'Stop', payload: 'STOP' } },
      { reply: { ...reply, title: 'Stop', payload: 'STOP' } },
    ],
    [
      'a flow',
      interactive('nfm_reply', { name: 'flow', body: 'Sent', response_json: '{"a":1}' }),
      { reply: { ...reply, title: 'Sent', responseJson: '{"a":1}' } },
    ],
    ['a quotation', { type: 'text', context: { from: '2', id: 'w0' } }, { quotedWamid: 'w0' }],
    ['an edit', { type: 'edit', edit: { original_message_id: 'w0', message: {} } }, { originalWamid: 'w0' }],
    ['a revocation', { type: 'revoke', revoke: { original_message_id: 'w0' } }, { originalWamid: 'w0' }],
    ['a group', { type: 'text', group_id: 'G1' }, { groupId: 'G1' }],
    [
      'an ad',
      { type: 'text', referral: { source_id: '5', headline: 'x' } },
      { referral: { source_id: '5', headline: 'x' } },
    ],
    [
      'a location',
      { type: 'location', location: { latitude: 1.5, longitude: -2, name: 'Here' } },
      { location: { latitude: 1.5, longitude: -2, name: 'Here' } },
    ],
    ['contacts', { type: 'contacts', contacts }, { contacts }],
    ['an order', { type: 'order', order }, { order }],
  ])('has %s, and nothing else', (_name, message, expected) => {
    expect(messageOf(message)).toMatchObject({ ...ABSENT, ...expected })
  })

  it('of a reaction has none of it but the group', () => {
    const reaction = { type: 'reaction', reaction: { message_id: 'w0', emoji: 'x' }, group_id: 'G1' }
    expect(messageOf(reaction)).toMatchObject({ ...ABSENT, groupId: 'G1' })
  })

  it.each<[string, object]>([
    [
      'of another kind',
      { referral: 'x', location: [], contacts: {}, order: 5, button: 'x', interactive: null, context: 7 },
    ],
    ['longer than 65,536 characters', { referral: { x: 'y'.repeat(65_536) }, contacts: ['y'.repeat(65_536)] }],
  ])('has null for what is %s', (_name, message) => {
    expect(messageOf({ type: 'text', ...message })).toMatchObject(ABSENT)
  })

  it('never cuts the answers of a flow', () => {
    const answer = (length: number) => interactive('nfm_reply', { response_json: 'x'.repeat(length) })
    expect(messageOf(answer(65_536)).reply.responseJson).toHaveLength(65_536)
    expect(messageOf(answer(65_537)).reply.responseJson).toBeNull()
  })
})

describe('raw', () => {
  const rawOf = (text: string): string => text.slice(text.indexOf('"raw":') + 6, -1)

  it('keeps numbers, escapes, white space, order and repeated names as they came', () => {
    const message =
      '{ "id":"w1" ,"type":"location","a":1.0,"b":12345678901234567890,"c":1e5,"d":"\\u00e4\\/\\ud83d","a":2 }'
    const body = around(`${META},"messages":[${message}],"extra":{"x":-0.0}`)
    expect(rawOf(envelopesOf(body)[0]!)).toBe(body)
  })

  it('leaves every sibling out: other messages, contacts, statuses, changes and entries', () => {
    const mine = '{"id":"w1","from":"1","type":"text"}'
    const value = `"errors":[{"code":1}],"statuses":[{"id":"s","status":"read"}],${META},"contacts":[{"wa_id":"2"},{"wa_id":"1"}],"messages":[{"id":"w0","from":"2"},${mine}],"user_actions":[{"secret":1}]`
    const other = '{"field":"messages","value":{"messages":[{"id":"secret"}]}}'
    const body = `{"gs_app_id":"g","secrets":[1],"entry":[{"id":"other","changes":[${other}]},{"id":"901","time":17,"changes":[${other},{"value":{${value}},"field":"messages"}],"more":{"secret":1}}],"object":"o"}`
    const raw = rawOf(envelopesOf(body).find((text) => text.includes('"wamid":"w1"'))!)
    expect(raw).toBe(
      `{"gs_app_id":"g","entry":[{"id":"901","time":17,"changes":[{"value":{"errors":[{"code":1}],${META},"contacts":[{"wa_id":"1"}],"messages":[${mine}]},"field":"messages"}]}],"object":"o"}`,
    )
  })

  it('follows the last of repeated names, as the parsed item did, and drops the others', () => {
    const body =
      '{"entry":[{"changes":[{"value":{"messages":[{"id":"secret"}],"messages":[{"id":"w1","type":"text"}]}}]}],"entr\\u0079":[{"changes":[{"value":{"messages":[{"id":"w2","type":"text"}]}}]}]}'
    expect(envelopesOf(body).map(rawOf)).toEqual([
      '{"entr\\u0079":[{"changes":[{"value":{"messages":[{"id":"w2","type":"text"}]}}]}]}',
    ])
  })

  it('is not swollen by what a hostile body puts around its items', () => {
    const junk = `"junk":"${'x'.repeat(10_000)}"`
    const [text = ''] = envelopesOf(around(`${junk},${META},"messages":[{"id":"w1","type":"text"}]`))
    expect(text).not.toContain('junk')
  })
})
