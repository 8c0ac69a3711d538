import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { isRecord } from '../../platform/text/json-text.ts'
import { eventReader } from '../../wiring/events/event-reader.ts'
import { graphEvents } from '../graph-events/graph-events.ts'
import { type MessageItem, NO_DETAILS } from './event-item.ts'
import {
  createEventReader,
  type EventFormat,
  listAt,
  memberAt,
  objectAt,
  phoneAt,
  placeWhole,
  textAt,
  unreadable,
} from './event-reader.ts'

/** A transport that writes `{"toy":{"line":"L1","letters":[{"no":"7","by":"393331234567","text":"Hi"}]}}`. */
const toyEvents: EventFormat = {
  readItems: (body, { text }) => {
    if (!isRecord(memberAt(body, 'toy'))) return undefined
    const toy = objectAt(body, 'toy')
    const line = textAt(toy, 'line')
    return listAt(toy, 'letters').map((letter, index) => {
      const placed = {
        ...placeWhole(text),
        key: `letters.${index}`,
        position: { group: 'letters', index },
        ...(line !== null && { route: { by: 'sender' as const, phoneNumberId: line } }),
      }
      if (!isRecord(letter)) return unreadable(placed, 'not an object')
      const [wamid, content] = [textAt(letter, 'no'), textAt(letter, 'text')]
      if (wamid === null || content === null) return unreadable(placed, 'a letter without number or text')
      const message: MessageItem = {
        ...placed,
        kind: 'message',
        wamid,
        customer: { phone: phoneAt(letter, 'by'), userId: null, profileName: null },
        businessPhone: null,
        isEcho: false,
        opensWindow: true,
        isForwarded: true,
        groupId: null,
        providerType: 'letter',
        type: 'text',
        text: content,
        media: null,
        recordType: 'text',
        recordText: content,
        quotedWamid: null,
        originalWamid: null,
        details: NO_DETAILS,
        error: null,
      }
      return message
    })
  },
  routeKeys: (raw) => new Set(/"line":"(\w+)"/.exec(raw.toString('latin1'))?.slice(1)),
  idsOf: (raw) => new Set(/"line":"(\w+)"/.exec(raw.toString('latin1'))?.slice(1)),
  signatureOf: ({ 'x-toy-mac': mac }) => (typeof mac === 'string' ? Buffer.from(mac, 'base64') : null),
}

const reader = createEventReader([graphEvents([]), toyEvents])
const body = { toy: { line: 'L1', letters: [{ no: '7', by: '393331234567', text: 'Hi' }, 'torn', { no: '8' }] } }

test('a transport with a format of its own needs one folder only', () => {
  const parsed = reader.parse(JSON.stringify(body))
  expect(parsed).toMatchObject({
    kind: 'items',
    items: [
      { kind: 'message', wamid: '7', text: 'Hi', route: { by: 'sender', phoneNumberId: 'L1' } },
      { kind: 'unreadable-item', reason: 'not an object' },
      { kind: 'unreadable-item', reason: 'a letter without number or text' },
    ],
  })
  expect([...reader.routeKeys(Buffer.from(JSON.stringify(body)), 10)]).toEqual(['L1'])
})

test('each transport signs with its own header', () => {
  const mac = createHmac('sha256', 'secret').update('bytes').digest()
  expect(reader.signatureOf({ 'x-toy-mac': mac.toString('base64') })).toEqual(mac)
  expect(reader.signatureOf({ 'x-hub-signature-256': `sha256=${mac.toString('hex')}` })).toEqual(mac)
  expect(reader.signatureOf({})).toBeNull()
})

test('a body in no known format asks nothing of the service', () => {
  expect(eventReader.parse(JSON.stringify(body))).toMatchObject({
    items: [{ kind: 'ignored', reason: 'a body in no known format' }],
  })
})
