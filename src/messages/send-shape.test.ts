import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { Value } from 'typebox/value'
import { expect, test } from 'vitest'
import { sendFaults } from './send-request.ts'
import { SendBody, SendRequestShape } from './send-shape.ts'

const isShown = new Ajv2020({ strict: false }).compile(JSON.parse(JSON.stringify(SendRequestShape)))
const optional = <T>(value: T) => fc.option(fc.constant(value), { nil: undefined })

const bodies = fc
  .record({
    recipient: fc.constantFrom('393331234567', 'x'),
    type: fc.constantFrom('text', 'template', 'image', 'video', 'audio', 'document', 'sticker', 'location'),
    text: fc.constantFrom(undefined, undefined, 'Hello', ''),
    template: fc.option(fc.record({ name: optional('order_update'), id: optional('tmpl_1') }), { nil: undefined }),
    media: fc.option(
      fc.record({
        link: fc.constantFrom(undefined, 'https://example.com/a', 'http://example.com/a'),
        providerMediaId: optional('77'),
        caption: optional('Size 42'),
        filename: optional('a.pdf'),
      }),
      { nil: undefined },
    ),
    sender: optional('106540352242922'),
  })
  .map((body): object => JSON.parse(JSON.stringify(body)))

test('the reference admits exactly the send bodies that the service takes', () => {
  let admitted = 0
  fc.assert(
    fc.property(bodies, (body) => {
      const isTaken = Value.Check(SendBody, body) && sendFaults(body).length === 0
      if (isTaken) admitted++
      expect([body, isShown(body)]).toEqual([body, isTaken])
    }),
    { numRuns: 20_000 },
  )
  expect(admitted).toBeGreaterThan(100)
})
