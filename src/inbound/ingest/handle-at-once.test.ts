import { beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { holdOpen } from '../../../test/held-locks.ts'
import { handlingDeps } from '../../../test/inbound-fixture.ts'
import { connectNumber } from '../../../test/world.ts'
import { connect } from '../../db/connect.ts'
import { keepErasedKeys, lockCustomers } from '../../people/customer-store.ts'
import { eventReader } from '../../wiring/events/event-reader.ts'
import { ALL_LANES, type NewEvent, UNPROVEN } from '../event-store.ts'
import { type HandleEventsDeps, handleApart, handleLanes } from '../handling/handle-events.ts'
import { acceptBodies, createAtOnce, type TakeEvents, toEvents } from './accept.ts'

let db: TestDatabase['db']
let url: string
let deps: HandleEventsDeps
let take: TakeEvents
beforeAll(async () => {
  ;({ db, url } = await createTestDatabase({ mirrors: true }))
})
beforeEach(async () => {
  await db`truncate inbound_events`
  deps = handlingDeps(db)
  take = createAtOnce(deps)
})

const UNKNOWN_NUMBER = '404404404'

/** Connects numbers in distinct lanes, apart from the unknown number's. */
async function connectNumbers(count: number): Promise<string[]> {
  const found = new Map<number, string>()
  while (found.size < count) {
    const number = await connectNumber(db)
    if (laneOf(number) !== laneOf(UNKNOWN_NUMBER)) found.set(laneOf(number), number)
  }
  return [...found.values()]
}

type Text = { number: string; wamid: string; text?: string; from?: string }
const bodyOf = (...texts: Text[]) =>
  Buffer.from(
    JSON.stringify({
      entry: texts.map(({ number, wamid, text = 'Hello', from = '393331' }) => ({
        changes: [
          {
            field: 'messages',
            value: {
              metadata: { phone_number_id: number },
              messages: [{ from, id: wamid, timestamp: '1760000000', type: 'text', text: { body: text } }],
            },
          },
        ],
      })),
    }),
  )
const eventsOf = (...bodies: Buffer[]): NewEvent[] =>
  bodies.flatMap((body) =>
    toEvents(eventReader, body).map((event) => ({ ...event, receivedAt: null, proof: UNPROVEN, address: null })),
  )
const laneOf = (number: string): number => eventsOf(bodyOf({ number, wamid: 'w' }))[0]!.lane
const store = (...bodies: Buffer[]) =>
  acceptBodies(
    db,
    eventReader,
    bodies.map((body) => ({ body, receivedAt: null, proof: UNPROVEN, address: null })),
  )
const storedEvents = async () => (await db`select from inbound_events`).length
const wamids = async (prefix: string) => {
  const rows = await db<{ wamid: string }[]>`
    select wamid from messages where company_id > 0 and wamid like ${`${prefix}%`} order by conversation_id, seq
  `
  return rows.map(({ wamid }) => wamid)
}
/** Handles stored events, like the worker. */
async function handleStored(): Promise<void> {
  const { failing } = await handleLanes(deps, ALL_LANES)
  for (const lane of failing) await handleApart(deps, lane)
}

/** Blocks handling before the commit until the returned function is called. */
function holdHandling(): { isHeld: Promise<void>; release: () => void; held: HandleEventsDeps } {
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const forward = async () => {
    held.resolve()
    await released.promise
    return () => {}
  }
  return { isHeld: held.promise, release: released.resolve, held: { ...deps, forward } }
}

test('events of empty lanes are handled in the transaction that takes them, and the rest follows its commit', async () => {
  const [one = '', other = ''] = await connectNumbers(2)
  const dispatched = vi.fn()
  take = createAtOnce({ ...deps, forward: async () => dispatched })
  const bodies = [one, other, one].map((number, n) => bodyOf({ number, wamid: `a${n}` }))
  expect(await take(eventsOf(...bodies))).toBe(0)
  expect(dispatched).toHaveBeenCalledOnce()
  expect((await wamids('a')).toSorted()).toEqual(['a0', 'a1', 'a2'])
  expect(await db`select distinct xmin::text from messages where company_id > 0 and wamid like 'a%'`).toHaveLength(1)
  expect(await storedEvents()).toBe(0)
})

test('an event that comes again, since its answer was lost, changes nothing', async () => {
  const [number = ''] = await connectNumbers(1)
  for (let post = 0; post < 2; post += 1) expect(await take(eventsOf(bodyOf({ number, wamid: 'b1' })))).toBe(0)
  expect(await wamids('b')).toEqual(['b1'])
})

test('an event does not overtake stored events of its lane', async () => {
  const [busy = '', free = ''] = await connectNumbers(2)
  await store(bodyOf({ number: busy, wamid: 'c1' }))
  expect(await take(eventsOf(bodyOf({ number: busy, wamid: 'c2' }), bodyOf({ number: free, wamid: 'c3' })))).toBe(1)
  expect(await wamids('c')).toEqual(['c3'])
  await handleStored()
  expect((await wamids('c')).toSorted()).toEqual(['c1', 'c2', 'c3'])
  expect((await wamids('c')).filter((wamid) => wamid !== 'c3')).toEqual(['c1', 'c2'])
})

test('an event of a lane that a worker has is stored, and handled after those that the worker handles', async () => {
  const [number = ''] = await connectNumbers(1)
  await store(bodyOf({ number, wamid: 'd1' }))
  const { isHeld, release, held } = holdHandling()
  const working = handleLanes(held, [laneOf(number)])
  await isHeld
  expect(await take(eventsOf(bodyOf({ number, wamid: 'd2' })))).toBe(1)
  release()
  await working
  await handleStored()
  expect(await wamids('d')).toEqual(['d1', 'd2'])
})

test('of two processes that take events of a number at once, one handles and the other stores', async () => {
  const [number = ''] = await connectNumbers(1)
  const other = connect(url)
  const { isHeld, release, held } = holdHandling()
  const first = createAtOnce(held)(eventsOf(bodyOf({ number, wamid: 'e1' })))
  await isHeld
  const second = createAtOnce({ ...deps, db: other })
  expect(await second(eventsOf(bodyOf({ number, wamid: 'e2' })))).toBe(1)
  release()
  expect(await first).toBe(0)
  // Later events from either process must wait for the stored one.
  expect(await createAtOnce(deps)(eventsOf(bodyOf({ number, wamid: 'e3' })))).toBe(1)
  await handleStored()
  expect(await wamids('e')).toEqual(['e1', 'e2', 'e3'])
  await other.end()
})

test('when an item fails, nothing of its transaction is written, and all events are handled as stored ones', async () => {
  const [one = '', other = ''] = await connectNumbers(2)
  await db`alter table messages add constraint refused check (text <> 'refuse me')`
  const bodies = [
    bodyOf({ number: one, wamid: 'f1' }),
    bodyOf({ number: other, wamid: 'f2', text: 'refuse me' }),
    bodyOf({ number: other, wamid: 'f3' }),
  ]
  expect(await take(eventsOf(...bodies))).toBe(3)
  expect(await wamids('f')).toEqual([])
  await handleStored()
  expect((await wamids('f')).toSorted()).toEqual(['f1', 'f3'])
  expect(await db`select state from inbound_items where body::text is not null and state = 'failed'`).toHaveLength(1)
  await db`alter table messages drop constraint refused`
})

test('the lanes of a transaction that failed are stored for a second; others are handled at once', async () => {
  const [failing = '', other = ''] = await connectNumbers(2)
  const clock = vi.spyOn(performance, 'now').mockReturnValue(1_000_000)
  await db`alter table messages add constraint refused check (text <> 'refuse me')`
  expect(await take(eventsOf(bodyOf({ number: failing, wamid: 'g1', text: 'refuse me' })))).toBe(1)
  await handleStored()
  expect(await take(eventsOf(bodyOf({ number: failing, wamid: 'g2' }), bodyOf({ number: other, wamid: 'g3' })))).toBe(1)
  await handleStored()
  clock.mockReturnValue(1_001_001)
  expect(await take(eventsOf(bodyOf({ number: failing, wamid: 'g4' })))).toBe(0)
  clock.mockRestore()
  await db`alter table messages drop constraint refused`
})

test('the lanes of a transaction that took long are stored for a second', async () => {
  const [number = ''] = await connectNumbers(1)
  const clock = vi.spyOn(performance, 'now').mockReturnValue(2_000_000)
  const forward = async () => {
    clock.mockReturnValue(2_001_001)
    return () => {}
  }
  const slow = createAtOnce({ ...deps, forward })
  expect(await slow(eventsOf(bodyOf({ number, wamid: 'l1' })))).toBe(0)
  expect(await slow(eventsOf(bodyOf({ number, wamid: 'l2' })))).toBe(1)
  await handleStored()
  clock.mockReturnValue(2_002_002)
  expect(await slow(eventsOf(bodyOf({ number, wamid: 'l3' })))).toBe(0)
  clock.mockRestore()
  expect(await wamids('l')).toEqual(['l1', 'l2', 'l3'])
})

test('a customer that another transaction has locked holds up no event for longer than the wait for a lock', async () => {
  const [number = '', other = ''] = await connectNumbers(2)
  const release = await holdOpen(db, async (tx) => {
    const [route] = await tx`select company_id from sender_routes where phone_number_id = ${number}`
    await lockCustomers(tx, [{ companyId: route!.companyId, identity: '393331' }])
  })
  // Without a lock timeout this would hang.
  expect(await take(eventsOf(bodyOf({ number, wamid: 'h1' }), bodyOf({ number: other, wamid: 'h2' })))).toBe(2)
  await release()
  await handleStored()
  expect((await wamids('h')).toSorted()).toEqual(['h1', 'h2'])
})

test.each<[what: string, bodiesOf: (numbers: [string, string]) => Promise<Buffer[]> | Buffer[]]>([
  ['for an unknown number', () => [bodyOf({ number: UNKNOWN_NUMBER, wamid: 'i1' })]],
  ['that are large', ([number]) => [bodyOf({ number, wamid: 'i1', text: 'x'.repeat(4_000) + '\n'.repeat(4_000) })]],
  ['of several numbers', ([number, other]) => [bodyOf({ number, wamid: 'i1' }, { number: other, wamid: 'i2' })]],
  [
    'with many items',
    ([number]) => Array.from({ length: 51 }, (_, n) => bodyOf({ number, wamid: `i${n}`, from: `39333${n}` })),
  ],
  ['that cannot be read', ([number]) => [Buffer.from(`{"phone_number_id":"${number}"`)]],
  [
    'that came before the secrets of their number were known',
    async ([number]) => {
      await db`
        update senders set app_secret = 'sealed', connected_at = now() where company_id > 0 and phone_number_id = ${number}
      `
      return [bodyOf({ number, wamid: 'i1' })]
    },
  ],
])('events %s are stored, those of other lanes are handled', async (_what, bodiesOf) => {
  const [one = '', two = '', free = ''] = await connectNumbers(3)
  const bodies = await bodiesOf([one, two])
  const stored = eventsOf(...bodies)
  const wamid = `free ${free}`
  expect(await take([...stored, ...eventsOf(bodyOf({ number: free, wamid }))])).toBe(stored.length)
  expect(await storedEvents()).toBe(stored.length)
  expect(await wamids(wamid)).toEqual([wamid])
})

test('a message that was erased is not recorded again, and one of an erased person is recorded as new', async () => {
  const [number = ''] = await connectNumbers(1)
  const [route] = await db`select company_id from sender_routes where phone_number_id = ${number}`
  await keepErasedKeys(db, route!.companyId, ['j1', '393331'])
  expect(await take(eventsOf(bodyOf({ number, wamid: 'j1' }), bodyOf({ number, wamid: 'j2' })))).toBe(0)
  expect(await wamids('j')).toEqual(['j2'])
})

test('while the database is away, events are refused: their transaction may have committed', async () => {
  const [number = ''] = await connectNumbers(1)
  const own = connect(url)
  const forward = async () => {
    await db`
      select pg_terminate_backend(held.pid)
      from pg_locks held
      join pg_stat_activity activity on activity.pid = held.pid
      where held.locktype = 'advisory' and activity.datname = current_database() and held.pid <> pg_backend_pid()
    `
    return () => {}
  }
  await expect(createAtOnce({ ...deps, db: own, forward })(eventsOf(bodyOf({ number, wamid: 'k1' })))).rejects.toThrow()
  expect(await storedEvents()).toBe(0)
  expect(await wamids('k')).toEqual([])
  await own.end()
})
