import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { handlingDeps, textBody } from '../../../test/inbound-fixture.ts'
import { connectNumber } from '../../../test/world.ts'
import { eventReader } from '../../wiring/events/event-reader.ts'
import { ALL_LANES, listBusyLanes, UNPROVEN } from '../event-store.ts'
import { acceptBodies, eventLaneOf } from '../ingest/accept.ts'
import type { HandleEventsDeps } from './handle-events.ts'
import { type InboundWorker, startInboundWorker } from './inbound-worker.ts'

/** Messages must not be blamed for a failing database: they wait, in order. */
let db: TestDatabase['db']
let deps: HandleEventsDeps
let worker: InboundWorker | undefined
let failures: unknown[]
const signals = { failed: () => {} }

beforeAll(async () => {
  ;({ db } = await createTestDatabase({ mirrors: true }))
  deps = handlingDeps(db)
})
beforeEach(async () => {
  await db`truncate inbound_events`
  failures = []
})
afterEach(() => worker?.stop())

const accept = (...bodies: Buffer[]) =>
  acceptBodies(
    db,
    eventReader,
    bodies.map((body) => ({ body, receivedAt: null, proof: UNPROVEN, address: null })),
  )
const wamids = async (prefix: string) => {
  const rows = await db<{ wamid: string }[]>`
    select wamid from messages where company_id > 0 and wamid like ${`${prefix}%`} order by id
  `
  return rows.map(({ wamid }) => wamid)
}
const kept = () => db`select reason from inbound_items where state = 'failed'`

function start(): void {
  worker = startInboundWorker({
    ...deps,
    onFailure: (error) => {
      failures.push(error)
      signals.failed()
    },
  })
}
const untilFailed = (times: number) =>
  new Promise<void>((resolve) => {
    signals.failed = () => failures.length >= times && resolve()
    signals.failed()
  })

/** Makes messages with this text fail with the given SQLSTATE. */
async function failWith(state: string): Promise<void> {
  await db.unsafe(`
    create or replace function fail_message() returns trigger language plpgsql as $$
    begin
      raise exception 'broken' using errcode = '${state}';
    end $$;
    create or replace trigger fail_message before insert on messages
      for each row when (new.text = 'fail') execute function fail_message();
  `)
}
const recover = () => db.unsafe('drop trigger fail_message on messages')

test.each([
  ['an input/output error', '58030'],
  ['a missing file', '58P01'],
  ['a missing permission', '42501'],
  ['an internal error', 'XX000'],
  ['a corrupted index', 'XX002'],
  ['a duplicate key', '23505'],
  ['an exhausted sequence', '2200H'],
])('a message waits for the end of %s, and for its place', async (_, state) => {
  const number = await connectNumber(db)
  await failWith(state)
  const prefix = `a${state}`
  await accept(textBody(number, `${prefix}1`), textBody(number, `${prefix}2`, 'fail'), textBody(number, `${prefix}3`))
  start()
  await untilFailed(2)
  expect(await kept()).toEqual([])
  expect(await db`select distinct lane from inbound_events`).toEqual([{ lane: eventLaneOf(number) }])
  await recover()
  await expect.poll(() => wamids(prefix), { timeout: 60_000 }).toEqual([1, 2, 3].map((place) => `${prefix}${place}`))
  expect([await kept(), await listBusyLanes(db, ALL_LANES, 1)]).toEqual([[], []])
})

test('another number of the lane is handled meanwhile', async () => {
  const number = await connectNumber(db)
  let other = await connectNumber(db)
  while (eventLaneOf(other) !== eventLaneOf(number)) other = await connectNumber(db)
  await failWith('XX000')
  await accept(textBody(number, 'b1', 'fail'), textBody(other, 'b2'), textBody(number, 'b3'))
  start()
  await expect.poll(() => wamids('b'), { timeout: 60_000 }).toEqual(['b2'])
  await untilFailed(2)
  await accept(textBody(other, 'b4'))
  await expect.poll(() => wamids('b'), { timeout: 60_000 }).toEqual(['b2', 'b4'])
  await recover()
  await expect.poll(() => wamids('b'), { timeout: 60_000 }).toEqual(['b2', 'b4', 'b1', 'b3'])
})

test('an error of our own code that no item causes keeps the message', async () => {
  const number = await connectNumber(db)
  let isBroken = true
  const forward = async () => {
    if (isBroken) throw new TypeError('A row is missing')
    return () => {}
  }
  deps = { ...deps, forward }
  await accept(textBody(number, 'c1'))
  start()
  await untilFailed(2)
  expect(await kept()).toEqual([])
  isBroken = false
  await expect.poll(() => wamids('c'), { timeout: 60_000 }).toEqual(['c1'])
})

test('a message that the database can never take is kept as failed', async () => {
  const number = await connectNumber(db)
  await db`alter table messages add constraint refused check (text <> 'refuse me')`
  await accept(textBody(number, 'd1'), textBody(number, 'd2', 'refuse me'), textBody(number, 'd3'))
  start()
  await expect.poll(() => wamids('d'), { timeout: 60_000 }).toEqual(['d1', 'd3'])
  expect(await kept()).toHaveLength(1)
})
