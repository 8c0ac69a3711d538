import fc from 'fast-check'
import { Compile } from 'typebox/compile'
import { describe, expect, it } from 'vitest'
import { itemsOf } from '../../../test/provider-items.ts'
import { providerBodies, signedBodies } from '../../../test/providers/provider-bodies.ts'
import { propertyRuns } from '../../../test/run/property-runs.ts'
import { buildEnvelope, Envelope, isForwardable } from '../../webhooks/events/message-received.ts'
import { eventReader } from '../../wiring/events/event-reader.ts'
import type { InboundItem } from './event-item.ts'

const CHANNEL = { companyId: 7, provider: 'meta', phoneNumber: null, channelId: 3 } as const

/** A small body, so that the properties always have input, even without the collection. */
const own = {
  object: 'whatsapp_business_account',
  entry: [
    {
      id: '901',
      changes: [
        {
          field: 'messages',
          value: {
            metadata: { display_phone_number: '49301234567', phone_number_id: '555' },
            contacts: [{ wa_id: '4915100000001', profile: { name: 'Ida' } }],
            messages: [
              { from: '4915100000001', id: 'wamid.1', timestamp: '1760000000', type: 'text', text: { body: 'Hallo' } },
              { from: '4915100000001', id: 'wamid.2', timestamp: '1760000001', type: 'image', image: { id: '77' } },
            ],
            statuses: [{ id: 'wamid.9', status: 'failed', timestamp: '1760000002', errors: [{ code: 131047 }] }],
          },
        },
        { field: 'message_template_status_update', value: { event: 'APPROVED', message_template_id: 5 } },
      ],
    },
  ],
}

const bodies = [JSON.stringify(own), ...providerBodies.map(({ body }) => body.toString())]

const described = Compile(Envelope)

/** Returns how an envelope differs from the API reference. */
function faultsOf(envelope: { message: object }): unknown[] {
  const undescribed = Object.keys(envelope.message).filter((name) => !(name in Envelope.properties.message.properties))
  return [...undescribed, ...(described.Check(envelope) ? [] : described.Errors(envelope))]
}

/** Reads every lazy member, so that nothing can fail later. */
function exhaust(items: InboundItem[]): void {
  for (const item of items) {
    JSON.parse(item.raw())
    if (isForwardable(item)) expect(faultsOf(JSON.parse(buildEnvelope(item, CHANNEL)))).toEqual([])
  }
}

describe.skipIf(providerBodies.length === 0)('bodies collected from providers', () => {
  it.each(providerBodies)('$file holds what its index says', ({ body, counts }) => {
    const items = itemsOf(body)
    const written = items.filter(
      (item) => item.kind === 'message' || item.kind === 'change' || item.kind === 'reaction',
    )
    expect({
      messages: written.filter((item) => !item.isEcho).length,
      echoes: written.filter((item) => item.isEcho).length,
      statuses: items.filter((item) => item.kind === 'status').length,
      templateStatuses: items.filter((item) => item.kind === 'template-status').length,
    }).toEqual(counts)
    expect(items.filter((item) => item.kind === 'unreadable-item')).toEqual([])
    expect(new Set(items.map((item) => item.key)).size).toBe(items.length)
  })

  it.each(providerBodies)('$file: an item alone in its body is handed on whole', ({ body }) => {
    const items = itemsOf(body)
    const compact = JSON.stringify(JSON.parse(body.toString()))
    if (items.length === 1) expect(itemsOf(compact)[0]?.raw()).toBe(compact)
    exhaust(items)
  })

  it.each(signedBodies)('$file: escapes are handed on as they came', ({ body }) => {
    const items = itemsOf(body).filter(isForwardable)
    for (const item of items) expect(buildEnvelope(item, CHANNEL)).toContain(item.raw())
    if (items.length === 1) expect(items[0]?.raw()).toBe(body.toString())
  })
})

describe('bodies that are broken', () => {
  it('cut off anywhere never throw', () => {
    // Cuts the first body everywhere, the similar others at every fifth place from a shifting start.
    for (const [place, body] of bodies.entries()) {
      const step = place === 0 ? 1 : 5
      for (let length = place % step; length < body.length; length += step) exhaust(itemsOf(body.slice(0, length)))
    }
  }, 300_000)

  it('with a value of another kind anywhere never throw', () => {
    const hostile = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom('', '\0', '\uD800', '__proto__', 'constructor', 1e300, -1, 2 ** 70, [], {}, [[]], [null]),
    )
    fc.assert(
      fc.property(fc.constantFrom(...bodies), fc.nat(), hostile, (body, place, value) => {
        const tree = JSON.parse(body)
        const slots = slotsOf(tree)
        const slot = slots[place % slots.length]
        if (slot) slot.holder[slot.name] = value
        const mutated = JSON.stringify(tree)
        expect(eventReader.parse(mutated).kind).toBe('items')
        exhaust(itemsOf(mutated))
      }),
      { numRuns: propertyRuns(1_000) },
    )
  }, 300_000)

  it('of any JSON or any bytes never throw', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => exhaust(itemsOf(JSON.stringify(value)))))
    fc.assert(fc.property(fc.uint8Array(), (bytes) => exhaust(itemsOf(Buffer.from(bytes)))))
  })
})

describe('siblings of a broken item', () => {
  const first = {
    from: '4915100000001',
    id: 'wamid.first',
    timestamp: '1760000000',
    type: 'text',
    text: { body: 'one' },
  }
  const last = { from: '4915100000002', id: 'wamid.last', timestamp: '1760000009', type: 'text', text: { body: 'two' } }
  const withMiddle = (middle: unknown) =>
    JSON.stringify({
      entry: [{ id: '901', changes: [{ field: 'messages', value: { messages: [first, middle, last] } }] }],
    })

  it('stay in their places and as they were', () => {
    const facts = (item: InboundItem | undefined) => item && { ...item, raw: item.raw() }
    const [wholeFirst, wholeLast] = [itemsOf(withMiddle({}))[0], itemsOf(withMiddle({}))[2]]
    fc.assert(
      fc.property(fc.jsonValue(), (middle) => {
        const items = itemsOf(withMiddle(middle))
        expect(facts(items[0])).toEqual(facts(wholeFirst))
        expect(facts(items.at(-1))).toEqual(facts(wholeLast))
        expect(items.at(-1)?.raw()).toContain(JSON.stringify(last))
      }),
    )
  })
})

type Slot = { holder: Record<string, unknown>; name: string }

function slotsOf(tree: unknown): Slot[] {
  if (typeof tree !== 'object' || tree === null) return []
  const holder = tree as Record<string, unknown>
  return Object.keys(holder).flatMap((name) => [{ holder, name }, ...slotsOf(holder[name])])
}
