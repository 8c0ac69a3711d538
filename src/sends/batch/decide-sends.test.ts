import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Send } from '../compose-message.ts'
import { decideSends, type SendFacts, type ThrottleLimits } from './decide-sends.ts'

const NOON = new Date('2026-11-21T12:00:00Z')
const NOW = { at: NOON, slotsMs: NOON.getTime() }
const LIMITS: ThrottleLimits = { pairBurst: 3, pairSeconds: 6, longestWaitSeconds: 5 }
const hoursAgo = (hours: number) => new Date(NOON.getTime() - hours * 3_600_000)

const send = (changes: Partial<Send> = {}): Send => ({
  companyId: 1,
  senderId: 1,
  identity: '393331234567',
  phone: '393331234567',
  account: 'WABA',
  conversationId: null,
  contactSource: 'WhatsApp',
  sourceType: 'service',
  needsWindow: false,
  needsConsent: false,
  dailyLimit: null,
  limitScope: 'sender:1',
  slotSeconds: null,
  type: 'text',
  template: null,
  text: 'Hello',
  media: null,
  content: null,
  quotedWamid: null,
  senderName: 'Key',
  key: null,
  scheduledId: null,
  ...changes,
})

const facts = (changes: Partial<SendFacts> = {}): SendFacts => ({
  isTaken: false,
  requestKey: null,
  isLocked: true,
  isElsewhere: false,
  conversationKey: 'conversation',
  personKey: 'person',
  senderKey: 'sender',
  limitKey: 'limit',
  consent: null,
  lastInboundAt: null,
  nextMessageMs: null,
  nextSlotMs: null,
  limit: { used: 0, isCounted: false, freeAt: null },
  ...changes,
})

const decideOne = (one: Send, sendFacts: SendFacts) => decideSends([one], [sendFacts], LIMITS, NOW)[0]
const refusals = (sends: Send[], sendFacts: SendFacts[]) =>
  decideSends(sends, sendFacts, LIMITS, NOW).map(({ refusal }) => refusal)

describe('consent', () => {
  test.each([
    [false, 'consent'],
    [true, null],
    [null, null],
  ])('marketing to a person who said %s last is answered %s', (consent, refusal) => {
    expect(decideOne(send({ needsConsent: true }), facts({ consent }))).toMatchObject({ refusal })
  })

  test('an opt-out refuses marketing alone', () => {
    expect(decideOne(send(), facts({ consent: false }))).toMatchObject({ refusal: null })
  })

  test('counts before the window', () => {
    const both = send({ needsConsent: true, needsWindow: true })
    expect(decideOne(both, facts({ consent: false }))).toEqual({ refusal: 'consent' })
  })
})

describe('the 24-hour window', () => {
  test('is closed before the customer wrote', () => {
    expect(decideOne(send({ needsWindow: true }), facts())).toEqual({ refusal: 'window', lastInboundAt: null })
  })

  test('is open for strictly less than 24 hours', () => {
    const needing = send({ needsWindow: true })
    const lastInboundAt = hoursAgo(24)
    expect(decideOne(needing, facts({ lastInboundAt }))).toEqual({ refusal: 'window', lastInboundAt })
    const justInside = new Date(lastInboundAt.getTime() + 1)
    expect(decideOne(needing, facts({ lastInboundAt: justInside }))).toMatchObject({ refusal: null })
  })

  test('means nothing to a send that does not need it', () => {
    expect(decideOne(send(), facts())).toMatchObject({ refusal: null })
  })
})

describe('the daily limit', () => {
  const limited = send({ dailyLimit: 2 })
  const used = (count: number, more: Partial<SendFacts> = {}) =>
    facts({ limit: { used: count, isCounted: false, freeAt: hoursAgo(-3) }, ...more })

  test('refuses the customer after the last place, and says when the next one is free', () => {
    expect(decideOne(limited, used(1))).toMatchObject({ refusal: null, takesPlace: true })
    expect(decideOne(limited, used(2))).toEqual({ refusal: 'limit', retryAt: hoursAgo(-3) })
  })

  test('counts distinct customers of a batch, in its order', () => {
    const to = (personKey: string) => used(0, { conversationKey: personKey, personKey })
    const sendFacts = ['a', 'a', 'b', 'c', 'b'].map(to)
    expect(refusals(Array(5).fill(limited), sendFacts)).toEqual([null, null, null, 'limit', null])
  })

  test('takes no place for a customer who has one, or in an open window', () => {
    const counted = facts({ limit: { used: 2, isCounted: true, freeAt: null } })
    expect(decideOne(limited, counted)).toMatchObject({ refusal: null, takesPlace: false })
    expect(decideOne(limited, used(2, { lastInboundAt: hoursAgo(1) }))).toMatchObject({
      refusal: null,
      takesPlace: false,
    })
  })

  test('is shared by the numbers of one portfolio', () => {
    const of = (senderKey: string, personKey: string) =>
      used(0, { senderKey, personKey, conversationKey: `${personKey} ${senderKey}` })
    const sendFacts = [of('one', 'a'), of('two', 'b'), of('two', 'a'), of('three', 'c')]
    expect(refusals(Array(4).fill(limited), sendFacts)).toEqual([null, null, null, 'limit'])
  })
})

describe('the throttle', () => {
  const throttled = (slotSeconds: number) => send({ slotSeconds })
  const waits = (sends: Send[], sendFacts: SendFacts[]) =>
    decideSends(sends, sendFacts, LIMITS, NOW).map((one) => ('waitSeconds' in one ? one.waitSeconds : one.refusal))

  test('takes slots of a clock that has gone back by a day since for free', () => {
    const ahead = NOW.slotsMs + 86_400_000
    const sendFacts = facts({ nextMessageMs: ahead, nextSlotMs: ahead })
    expect(decideOne(throttled(1), sendFacts)).toMatchObject({ refusal: null, waitSeconds: 0 })
  })

  test('gives the slots of a sender in order, and refuses a send that would wait longer than 5 s', () => {
    const sendFacts = Array.from({ length: 8 }, (_, index) => facts({ conversationKey: `to ${index}` }))
    const decided = decideSends(Array(8).fill(throttled(1)), sendFacts, LIMITS, NOW)
    expect(decided.map(({ refusal }) => refusal)).toEqual([null, null, null, null, null, null, 'throttle', 'throttle'])
    expect(waits(Array(8).fill(throttled(1)), sendFacts)).toEqual([0, 1, 2, 3, 4, 5, 6, 6])
  })

  test('lets one customer have a burst, and then one message every 6 s', () => {
    const decided = decideSends(Array(5).fill(throttled(0.001)), Array(5).fill(facts()), LIMITS, NOW)
    expect(decided.map(({ refusal }) => refusal)).toEqual([null, null, null, 'throttle', 'throttle'])
  })

  test('waits for a customer whose next message is due within 5 s', () => {
    const sendFacts = facts({ nextMessageMs: NOW.slotsMs + 16_000 })
    expect(decideOne(throttled(0.001), sendFacts)).toMatchObject({ refusal: null, waitSeconds: 4 })
  })

  test('holds for no sender without one', () => {
    expect(waits(Array(9).fill(send()), Array(9).fill(facts()))).toEqual(Array(9).fill(0))
  })
})

test('a refused send takes neither slot nor place', () => {
  const refused = send({ needsWindow: true, slotSeconds: 100, dailyLimit: 1 })
  const sendFacts = ['a', 'b'].map((key) => facts({ conversationKey: key, personKey: key }))
  expect(refusals([refused, send({ slotSeconds: 100, dailyLimit: 1 })], sendFacts)).toEqual(['window', null])
})

test.each([
  ['whose key another request has', { isTaken: true }, 'key'],
  ['whose customer another transaction has locked', { isLocked: false }, 'busy'],
  ['that answers a customer whose address is another one’s now', { isElsewhere: true }, 'moved'],
])('a send %s is left out', (_, sendFacts, refusal) => {
  expect(decideOne(send(), facts(sendFacts))).toEqual({ refusal })
})

test('one batch decides like its sends one after the other', () => {
  const customers = fc.constantFrom('a', 'b', 'c', 'd')
  const requestKeys = fc.constantFrom(null, 'k', 'l')
  const one = fc.record({
    customer: customers,
    requestKey: requestKeys,
    limited: fc.boolean(),
    open: fc.boolean(),
    slow: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(one, { maxLength: 12 }), (batch) => {
      const sends = batch.map(({ limited, slow }) =>
        send({ dailyLimit: limited ? 2 : null, slotSeconds: slow ? 2 : null }),
      )
      const sendFacts = batch.map(({ customer, requestKey, open }) =>
        facts({ requestKey, conversationKey: customer, personKey: customer, lastInboundAt: open ? hoursAgo(1) : null }),
      )
      const together = decideSends(sends, sendFacts, LIMITS, NOW)
      const taken = new Set<string | null>()
      const places = new Set<string>()
      const next = new Map<string, number>()
      let slotMs: number | null = null
      const apart = batch.map(({ customer, requestKey }, index) => {
        const [decision] = decideSends(
          [sends[index]!],
          [
            {
              ...sendFacts[index]!,
              isTaken: taken.has(requestKey),
              nextMessageMs: next.get(customer) ?? null,
              nextSlotMs: slotMs,
              limit: { used: places.size, isCounted: places.has(customer), freeAt: null },
            },
          ],
          LIMITS,
          NOW,
        )
        if (decision?.refusal === null) {
          if (requestKey !== null) taken.add(requestKey)
          if (decision.takesPlace) places.add(customer)
          next.set(customer, decision.nextMessageMs)
          slotMs = decision.nextSlotMs ?? slotMs
        }
        return decision
      })
      expect(together).toEqual(apart)
    }),
  )
})
