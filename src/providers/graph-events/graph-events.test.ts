import { describe, expect, it } from 'vitest'
import { itemsOf, METADATA } from '../../../test/provider-items.ts'
import { eventReader } from '../../wiring/events/event-reader.ts'
import type { InboundItem } from '../events/event-item.ts'

type Json = Record<string, unknown>

const read = (
  field: string | undefined,
  value: unknown,
  body: Json = {},
  entry: Json = { id: '901', time: 1760000000 },
) => itemsOf(JSON.stringify({ ...body, entry: [{ ...entry, changes: [{ field, value }] }] }))

describe('a body', () => {
  it.each(['', 'nonsense', '{"entry":', '[1,2]', 'null', '"x"', '5'])('%j is unreadable', (text) => {
    expect(eventReader.parse(Buffer.from(text)).kind).toBe('unreadable')
  })

  it('may begin with a byte order mark', () => {
    expect(eventReader.parse(Buffer.from('\uFEFF{"entry":[]}'))).toEqual({ kind: 'items', items: [] })
  })

  it.each<[string, Json, string | null]>([
    ['a partner event', { id: 'x', event: 'channel_created', data: {} }, 'channel_created'],
    ["Gupshup's set-callback", { type: 'set-callback' }, 'set-callback'],
    ['an empty object', {}, null],
  ])('without entries is ignored: %s', (_name, body, field) => {
    expect(itemsOf(JSON.stringify(body))).toMatchObject([{ kind: 'ignored', field, route: { by: 'nothing' } }])
  })

  it('is cut into items in its own order, each with its key, company and own text', () => {
    const message = (id: string) => ({ id, from: '1', type: 'text' })
    const change = (phone_number_id: string, value: Json) => ({
      field: 'messages',
      value: { metadata: { phone_number_id }, ...value },
    })
    const entry = [
      {
        id: '901',
        changes: [
          change('5', { messages: [message('a'), 7, message('b')], statuses: [{ id: 'c', status: 'read' }] }),
          change('6', { messages: [message('d')] }),
        ],
      },
      'broken',
      { id: '902', changes: [change('7', { messages: [message('e')] }), {}] },
    ]
    const items = itemsOf(JSON.stringify({ entry }))
    expect(
      items.map((item) => [item.key, item.kind, item.route.by === 'sender' ? item.route.phoneNumberId : item.route.by]),
    ).toEqual([
      ['0.0.messages.0', 'message', '5'],
      ['0.0.messages.1', 'unreadable-item', '5'],
      ['0.0.messages.2', 'message', '5'],
      ['0.0.statuses.0', 'status', '5'],
      ['0.1.messages.0', 'message', '6'],
      ['1.0', 'unreadable-item', 'nothing'],
      ['2.0.messages.0', 'message', '7'],
      ['2.1', 'unreadable-item', 'account'],
    ])
    expect(JSON.parse(items[2]!.raw())).toEqual({
      entry: [
        {
          id: '901',
          changes: [{ field: 'messages', value: { metadata: { phone_number_id: '5' }, messages: [message('b')] } }],
        },
      ],
    })
  })

  it('of at most 5,000 items is read, a larger one is unreadable as a whole', () => {
    const bodyOf = (count: number) => `{"entry":[{"changes":[{"value":{"statuses":[${'0,'.repeat(count - 1)}0]}}]}]}`
    expect(itemsOf(bodyOf(5_000))).toHaveLength(5_000)
    expect(eventReader.parse(bodyOf(5_001))).toEqual({ kind: 'unreadable', reason: 'more than 5000 items' })
  })

  it.each([64, 200_000])('of which one item has %i levels costs no sibling', (levels) => {
    const deep = `${'['.repeat(levels)}${']'.repeat(levels)}`
    const messages = `[{"id":"a","from":"1","type":"text","text":${deep}},{"id":1234567890123456,"from":"1","type":"text","text":{"body":"x"}}]`
    const items = itemsOf(`{"entry":[{"changes":[{"value":{"messages":${messages}}}]}]}`)
    expect(items).toMatchObject([
      { kind: 'unreadable-item', reason: 'more than 64 levels', route: { by: 'nothing' } },
      { wamid: '1234567890123456', text: 'x' },
    ])
    expect(items[0]!.raw()).toContain(deep)
  })

  it.each([
    [
      'in a scalar place of an item',
      (deep: string) => `{"entry":[{"changes":[{"value":{"statuses":[],"x":${deep}}}]}]}`,
    ],
    ['beside the entries', (deep: string) => `{"entry":[],"x":${deep}}`],
    ['without entries', (deep: string) => `{"x":${deep}}`],
  ])('of more than 64 levels is unreadable as a whole: %s', (_name, bodyWith) => {
    const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
    expect(eventReader.parse(bodyWith(nested(64)))).toEqual({ kind: 'unreadable', reason: 'more than 64 levels' })
    expect(eventReader.parse(bodyWith(nested(50))).kind).toBe('items')
  })

  it('multiplies what stands around its items at most to a few times its own size', () => {
    const big = 'x'.repeat(4_000)
    const messages = Array.from({ length: 4_900 }, (_, n) => ({ id: `wamid.${n}`, from: '1', type: 'text' }))
    const change = { field: 'messages', big, value: { metadata: METADATA, big, messages } }
    const body = JSON.stringify({ entry: [{ changes: [change], big }], big })
    const raws = itemsOf(body).map((item) => item.raw())
    expect(raws.reduce((sum, raw) => sum + raw.length, 0)).toBeLessThan(6 * body.length)
    expect(JSON.parse(raws[7]!).entry[0].changes[0].value.messages).toEqual([messages[7]])
  })

  it('can be cut to several items of one list, with all contacts', () => {
    const contacts = [{ wa_id: '1' }, { wa_id: '2' }]
    const statuses = [1, 2, 3].map((n) => ({ id: `wamid.${n}`, status: 'read', recipient_id: '1' }))
    const value = { metadata: METADATA, contacts, statuses, messages: [{ id: 'm' }] }
    const items = read('messages', value).filter(({ kind }) => kind === 'status')
    const slice = JSON.parse(items[0]!.raw([items[2]!])).entry[0].changes[0].value
    expect(slice).toEqual({ metadata: METADATA, contacts, statuses: [statuses[0], statuses[2]] })
  })

  it('of Gupshup version 2 says how to subscribe', () => {
    const body = { app: 'Shop', timestamp: 1760000000000, version: 2, type: 'message', payload: { id: 'a' } }
    expect(itemsOf(JSON.stringify(body))).toMatchObject([
      { kind: 'unreadable-item', reason: 'Gupshup version 2: subscribe with version=3' },
    ])
    expect(itemsOf(JSON.stringify({ ...body, type: 'template-event' }))).not.toMatchObject([
      { kind: 'unreadable-item' },
    ])
  })
})

describe('an item', () => {
  const message = { id: 'a', from: '1', type: 'text', text: { body: 'x' } }
  const long = (length: number) => 'x'.repeat(length)

  it.each<[string, number, (id: string) => InboundItem[]]>([
    ['phone_number_id', 128, (id) => read('messages', { metadata: { phone_number_id: id }, messages: [message] })],
    ['id', 128, (id) => read('messages', { metadata: METADATA, messages: [message] }, {}, { id })],
    ['gs_app_id', 128, (id) => read('messages', { messages: [message] }, { gs_app_id: id })],
    ['gs_app_id', 128, (id) => itemsOf(JSON.stringify({ gs_app_id: id, event: 'x' }))],
    [
      'message_template_id',
      128,
      (id) => read('message_template_status_update', { event: 'x', message_template_id: id }),
    ],
    ['id', 512, (id) => read('messages', { metadata: METADATA, messages: [{ ...message, id }] })],
    ['id', 512, (id) => read('messages', { metadata: METADATA, messages: [{ ...message, context: { id } }] })],
    [
      'id',
      512,
      (id) => read('messages', { metadata: METADATA, messages: [{ ...message, type: 'image', image: { id } }] }),
    ],
    ['id', 512, (id) => read('messages', { metadata: METADATA, statuses: [{ id, status: 'read' }] })],
    ['gs_id', 512, (id) => read('messages', { metadata: METADATA, statuses: [{ gs_id: id, status: 'read' }] })],
    [
      'message_id',
      512,
      (id) =>
        read('messages', {
          metadata: METADATA,
          messages: [{ ...message, type: 'reaction', reaction: { message_id: id } }],
        }),
    ],
  ])('whose %s has more than %i characters is unreadable, without ids', (name, limit, readWith) => {
    expect(readWith(long(limit))).not.toMatchObject([{ kind: 'unreadable-item' }])
    expect(readWith(long(limit + 1))).toMatchObject([
      { kind: 'unreadable-item', route: { by: 'nothing' }, reason: `${name} has more than ${limit} characters` },
    ])
  })

  it('beyond its bounds costs no sibling', () => {
    const messages = [{ ...message, id: long(5_000) }, message]
    expect(read('messages', { metadata: METADATA, messages })).toMatchObject([
      { kind: 'unreadable-item' },
      { kind: 'message', wamid: 'a' },
    ])
  })

  it('has texts of at most 65,536 characters and other strings of at most 1,024', () => {
    const document = { id: '1', caption: long(70_000), filename: long(70_000), mime_type: `${long(1_023)}😀` }
    const messages = [
      { ...message, text: { body: long(70_000) } },
      { ...message, type: 'document', document },
    ]
    const [text, file] = read('messages', { metadata: METADATA, messages })
    expect(text).toMatchObject({ text: long(65_536), recordText: long(65_536) })
    expect(file).toMatchObject({
      media: { caption: long(65_536), filename: long(1_024), mimeType: `${long(1_023)}\uFFFD` },
    })
  })
})
