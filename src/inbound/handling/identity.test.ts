import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { propertyRuns } from '../../../test/run/property-runs.ts'
import { createCompany, createSender, messageFrom, messageTo, record } from '../../../test/world.ts'
import { prepareSends } from '../../sends/batch/send-batches.ts'
import type { InboundEntry, InboundRecord } from './batch/decide-inbound.ts'

const { db } = await createTestDatabase({ mirrors: true })

const SENDERS = 2
const PERSONS = 4
const PHONES = 5
const START = Date.parse('2026-11-01T12:00:00Z')

/** `to` and `phone` are indexes into the number list. */
type Step =
  | { kind: 'writes'; person: number; sender: number; shows: 'both' | 'phone' | 'user'; isSameBatch: boolean }
  | { kind: 'changes number'; person: number; to: number; namesIds: boolean; isSameBatch: boolean }
  | { kind: 'takes a number'; person: number; phone: number }
  | { kind: 'changes user id'; person: number; isSameBatch: boolean }
  | { kind: 'is delivered again'; message: number }

const person = fc.nat(PERSONS - 1)
const phone = fc.nat(PHONES - 1)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('writes' as const),
      person,
      sender: fc.nat(SENDERS - 1),
      shows: fc.constantFrom('both' as const, 'both' as const, 'phone' as const, 'user' as const),
      isSameBatch: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('changes number' as const),
      person,
      to: phone,
      namesIds: fc.boolean(),
      isSameBatch: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('takes a number' as const), person, phone }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('changes user id' as const), person, isSameBatch: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('is delivered again' as const), message: fc.nat(20) }) },
)

/** Plays customers' actions and the events a provider would post. */
async function play(steps: readonly Step[]) {
  const companyId = await createCompany(db)
  const senderIds = [await createSender(db, companyId), await createSender(db, companyId)]
  const numbers = Array.from({ length: PHONES }, (_, place) => `39333${companyId}00${place}`)
  const persons = Array.from({ length: PERSONS }, (_, place) => ({
    phone: place < PHONES - 1 ? numbers[place]! : null,
    userId: `US.${companyId}x${place}`,
    isKnown: false,
  }))
  /** The last person reported with each number. */
  const holders = new Map<string, number>()
  const sent: { record: InboundRecord; person: number }[] = []
  let waiting: InboundEntry[] = []
  let ids = 0

  const now = () => new Date(START + ids * 1000)
  const flush = async () => {
    const batch = waiting
    waiting = []
    if (batch.length > 0) await db.begin((tx) => record(tx, batch, now()))
  }
  for (const one of steps) {
    ids += 1
    if (one.kind === 'writes') {
      const writer = persons[one.person]!
      const shows = writer.phone === null ? 'user' : one.shows
      // A number identifies its last known holder; any other writer is known by user id only.
      if (shows === 'phone' && holders.get(writer.phone!) !== one.person) continue
      const hasPhone = shows !== 'user'
      const written: InboundRecord = {
        ...messageFrom(companyId, senderIds[one.sender]!, ''),
        phone: hasPhone ? writer.phone : null,
        userId: shows === 'phone' ? null : writer.userId,
        wamid: `wamid.${companyId}.${ids}`,
        text: String(one.person),
        sentAt: now(),
      }
      if (!one.isSameBatch) await flush()
      waiting.push(written)
      sent.push({ record: written, person: one.person })
      if (shows === 'both') hold(one.person, writer.phone!)
      writer.isKnown ||= shows === 'both'
    } else if (one.kind === 'changes number') {
      const { phone: from, isKnown } = persons[one.person]!
      const to = numbers[one.to]!
      if (from === null || from === to || !isKnown || holders.get(from) !== one.person) continue
      if (!one.isSameBatch) await flush()
      const mover = persons[one.person]!
      const [previous, next] = [mover.userId, `US.${companyId}z${ids}`]
      // Every number change creates a new user id.
      mover.userId = next
      waiting.push({
        kind: 'number-change',
        companyId,
        wamid: `wamid.${companyId}.${ids}`,
        change: {
          ...{ from, to, account: 'WABA1', at: now().getTime() },
          ...(one.namesIds ? { previousUserIds: [previous], userId: next } : { previousUserIds: [], userId: null }),
        },
      })
      give(to, one.person)
      holders.delete(from)
      hold(one.person, to)
    } else if (one.kind === 'takes a number') {
      give(numbers[one.phone]!, one.person)
    } else if (one.kind === 'changes user id') {
      if (!one.isSameBatch) await flush()
      const former = persons[one.person]!.userId
      const next = `US.${companyId}y${ids}`
      const at = now().getTime()
      const change = { phone: null, previousUserIds: [former], userId: next, isMessage: true, account: 'WABA1', at }
      waiting.push({ kind: 'user-id-change', companyId, wamid: null, change })
      persons[one.person]!.userId = next
    } else {
      const again = sent[one.message]
      if (again !== undefined) waiting.push(again.record)
    }
  }
  await flush()
  return { companyId, senderIds, holders, now }

  function give(number: string, to: number): void {
    for (const other of persons) if (other.phone === number) other.phone = null
    persons[to]!.phone = number
  }

  function hold(holder: number, number: string): void {
    for (const [held, by] of holders) if (by === holder && held !== number) holders.delete(held)
    holders.set(number, holder)
  }
}

test('a customer whose number has gone to another keeps a conversation of their own, also within one batch', async () => {
  const writes = { kind: 'writes', shows: 'both', isSameBatch: false } as const
  const { companyId } = await play([
    { ...writes, person: 0, sender: 0 },
    { kind: 'takes a number', person: 2, phone: 0 },
    { ...writes, person: 2, sender: 1 },
    { ...writes, person: 0, sender: 1, isSameBatch: true },
  ])
  const conversations = await db<{ writers: string[] }[]>`
    select array_agg(distinct text) as writers from messages where company_id = ${companyId} group by conversation_id
  `
  expect(conversations.map(({ writers }) => writers)).toEqual(expect.arrayContaining([['0'], ['0'], ['2']]))
})

test('no conversation holds messages of two customers, and contact.phone is of the last writer', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 24 }), async (steps) => {
      const { companyId, holders, now } = await play(steps)
      const conversations = await db<
        { id: number; senderId: number; phone: string | null; writers: string[]; last: string }[]
      >`
        select
          conversation.id, conversation.sender_id, customer.phone,
          array_agg(distinct message.text) as writers,
          (array_agg(message.text order by message.seq desc))[1] as last
        from conversations conversation
        join customers customer
          on (customer.company_id, customer.id) = (conversation.company_id, conversation.customer_id)
        join messages message
          on (message.company_id, message.conversation_id) = (conversation.company_id, conversation.id)
        where conversation.company_id = ${companyId}
        group by conversation.company_id, conversation.id, customer.company_id, customer.id
        order by conversation.id
      `
      for (const { id, senderId, phone: number, writers, last } of conversations) {
        expect(writers).toHaveLength(1)
        if (number === null) continue
        expect([number, String(holders.get(number))]).toEqual([number, last])
        const [send] = await prepareSends(db, [messageTo(companyId, senderId, number)], now())
        if (send?.refusal !== null) throw new Error('refused')
        const [{ last: reached } = { last: undefined }] = await db<{ last: string | undefined }[]>`
          select text as last from messages
          where company_id = ${companyId} and conversation_id = ${send.conversationId} and direction = 'inbound'
          order by seq desc
          limit 1
        `
        expect([id, reached]).toEqual([id, last])
      }
    }),
    { numRuns: propertyRuns(40) },
  )
}, 240_000)
