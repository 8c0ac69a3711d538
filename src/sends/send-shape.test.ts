import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { closedShape } from '../http/body/input.ts'
import { isRecord } from '../platform/text/json-text.ts'
import { sendFaults } from './send-request.ts'
import { MEDIA_KINDS, OWN_MEMBERS, SendBody } from './send-shape.ts'

const shape = JSON.parse(JSON.stringify(closedShape(SendBody)))
const fits = addFormats.default(new Ajv2020({ strict: false, discriminator: true })).compile(shape)
const optional = <T>(value: T) => fc.option(fc.constant(value), { nil: undefined })

const BUTTON = { type: 'reply', reply: { id: 'yes', title: 'Yes' } }

/** Values of each member, right ones and wrong ones. */
const members = fc.record({
  text: fc.constantFrom('Hello', ''),
  template: fc.record({ name: optional('order_update'), id: optional('tmpl_1') }),
  media: fc.record({
    link: fc.constantFrom(undefined, 'https://example.com/a', 'http://example.com/a'),
    providerMediaId: optional('77'),
    caption: optional('Size 42'),
    filename: optional('a.pdf'),
  }),
  interactive: fc.constantFrom<object>(
    { type: 'button', body: { text: 'Ok?' }, action: { buttons: [BUTTON] } },
    { type: 'button', body: { text: 'Ok?' }, action: { buttons: [] } },
    { type: 'menu' },
  ),
  location: fc.constantFrom<object>({ latitude: 45.5, longitude: 9 }, { latitude: 91, longitude: 0 }, { latitude: 45 }),
  contacts: fc.constantFrom<object>([{ name: { formatted_name: 'Ada', first_name: 'Ada' } }], [], [{ name: {} }]),
  reaction: fc.constantFrom<object>({ messageId: 7, emoji: '👍' }, { messageId: 7, emoji: null }, { messageId: 0 }),
})
const MEMBERS = [...OWN_MEMBERS, 'media'] as const

const bodies = fc
  .record({
    type: fc.constantFrom(...OWN_MEMBERS, ...MEDIA_KINDS, 'order'),
    values: members,
    hasOwn: fc.boolean(),
    others: fc.subarray([...MEMBERS], { maxLength: 1 }),
    common: fc.record({
      recipient: fc.constantFrom('393331234567', 'x'),
      quoted: fc.constantFrom(undefined, undefined, 7, 0, '7'),
      sendAt: fc.constantFrom(undefined, undefined, '2026-03-05T08:00:00Z', 'tomorrow', 7),
      previewUrl: fc.constantFrom(undefined, undefined, true, 'yes'),
      sender: optional('106540352242922'),
    }),
  })
  .map(({ type, values, hasOwn, others, common }): object => {
    const own = MEMBERS.find((name) => name === type) ?? 'media'
    const present = MEMBERS.filter((name) => (hasOwn && name === own) || others.includes(name))
    const content = Object.fromEntries(present.map((name) => [name, values[name]]))
    return JSON.parse(JSON.stringify({ ...common, type, ...content }))
  })

test('the shape of a send admits no combination of members that a send refuses', () => {
  let admitted = 0
  fc.assert(
    fc.property(bodies, (body) => {
      if (!fits(body) || !isRecord(body)) return
      admitted++
      expect(sendFaults(body)).toEqual([])
    }),
    { numRuns: 20_000 },
  )
  expect(admitted).toBeGreaterThan(100)
})
