import { beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createCompany, envelope, register, testCipher } from '../../../test/webhook-fixture.ts'
import { enqueueDeliveries } from '../deliveries/delivery-store.ts'
import { createBacklogGuard, toPause } from './backlog.ts'
import { updateRegistration } from './registration.ts'
import { findRegistration, listSubscribedEvents } from './registration-store.ts'

const { db } = await createTestDatabase()
const MESSAGE = 'whatsapp.message.received'
const CHANGED = 'contact.changed'
const MOST = 100

let companyId: number
let paused: number[]
let resumed: number[]
const failures: unknown[] = []
const createGuard = () =>
  createBacklogGuard({
    db,
    most: MOST,
    onPaused: (_, ids) => paused.push(...ids),
    onResumed: (id) => resumed.push(id),
    onFailure: (error) => failures.push(error),
  })

beforeEach(async () => {
  companyId = await createCompany(db)
  paused = []
  resumed = []
})

const registerFor = (...events: string[]) => register(db, companyId, { events }).then(({ id }) => id)
const pausedReasonOf = async (id: number) => (await findRegistration(db, companyId, id))?.pausedReason
const enqueue = (event: string, count: number, prefix = '') =>
  enqueueDeliveries(
    db,
    Array.from({ length: count }, (_, n) => ({ ...envelope(companyId, `${prefix}${event}${n}`), event })),
  )
async function fill(registrationId: number, count: number, event = CHANGED): Promise<void> {
  await db`
    insert into deliveries (company_id, registration_id, event, event_id)
    select ${companyId}, ${registrationId}, ${event}, 'e' || n from generate_series(1, ${count}::int) as n
  `
}

describe('beyond the bound', () => {
  it('the registrations with the largest backlog get no events but messages', async () => {
    const [large, small] = [await registerFor(CHANGED, MESSAGE), await registerFor(CHANGED, MESSAGE)]
    await fill(large, MOST - 10)
    await fill(small, 11)
    await createGuard().check(companyId)
    expect(paused).toEqual([large])
    expect(await findRegistration(db, companyId, large)).toMatchObject({ status: 'active', pausedReason: 'backlog' })
    expect(await pausedReasonOf(small)).toBeNull()
    expect((await enqueue(CHANGED, 1)).map(({ registrationId }) => registrationId)).toEqual([small])
    expect((await enqueue(MESSAGE, 1)).map(({ registrationId }) => registrationId).sort()).toEqual([large, small])
  })

  it('the events of a registration without messages are not built either', async () => {
    const id = await registerFor(CHANGED)
    await fill(id, MOST + 1)
    expect(await listSubscribedEvents(db)).toContainEqual({ companyId, event: CHANGED, receivers: 1 })
    await createGuard().check(companyId)
    expect((await listSubscribedEvents(db)).filter((one) => one.companyId === companyId)).toEqual([])
    expect(await enqueue(MESSAGE, 1)).toEqual([])
  })

  it('messages neither count nor stop', async () => {
    const id = await registerFor(CHANGED, MESSAGE)
    await fill(id, 3 * MOST, MESSAGE)
    await createGuard().check(companyId)
    expect(await pausedReasonOf(id)).toBeNull()
  })

  it('each count stops those that have grown meanwhile, so that the backlog never grows far', async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, () => registerFor(CHANGED)))
    await fill(ids[0]!, MOST)
    const guard = createGuard()
    for (let n = 0; n < 20; n += 1) {
      await enqueue(CHANGED, 10, `${n}-`)
      await guard.check(companyId)
    }
    expect(paused.toSorted()).toEqual(ids.toSorted())
    const waiting = await db`select from deliveries where company_id = ${companyId} and status = 'pending'`
    expect(waiting.length).toBeLessThanOrEqual(2 * MOST + 4 * 10)
  })

  it('a company within it keeps its events', async () => {
    const id = await registerFor(CHANGED)
    await fill(id, MOST)
    await createGuard().check(companyId)
    expect(await pausedReasonOf(id)).toBeNull()
  })
})

describe('the count', () => {
  it('runs for the first additions, and again only when others may have passed the bound', async () => {
    const id = await registerFor(CHANGED)
    const guard = createGuard()
    guard.added(companyId, 1)
    await guard.check(companyId)
    await fill(id, MOST + 1)
    // A quarter of the remaining room.
    for (let n = 0; n < 24; n += 1) guard.added(companyId, 1)
    expect(paused).toEqual([])
    guard.added(companyId, 1)
    await expect.poll(() => paused).toEqual([id])
    expect(failures).toEqual([])
  })
})

describe('a registration that was stopped', () => {
  const stop = async () => {
    const id = await registerFor(CHANGED)
    await fill(id, MOST + 1)
    await createGuard().check(companyId)
    return id
  }
  const deliver = (count: number) => db`
    update deliveries set status = 'delivered' where company_id = ${companyId} and id in (
      select id from deliveries where company_id = ${companyId} and status = 'pending' limit ${count}
    )
  `

  it('resumes once the backlog has halved', async () => {
    const id = await stop()
    const guard = createGuard()
    await deliver(MOST / 2)
    await guard.resume()
    expect([await pausedReasonOf(id), resumed.includes(companyId)]).toEqual(['backlog', false])
    await deliver(1)
    await guard.resume()
    expect([await pausedReasonOf(id), resumed.includes(companyId)]).toEqual([null, true])
    expect(await enqueue(CHANGED, 1)).toHaveLength(1)
  })

  it('resumes when it is set active, and not when the record is written back as it was read', async () => {
    const id = await stop()
    const rules = { allowPrivate: false, serviceName: 'Acme' }
    const update = (change: object) => updateRegistration({ db, cipher: testCipher, rules }, companyId, id, change)
    await update({ status: 'active', pausedReason: 'backlog' })
    await update({ name: 'Renamed' })
    expect(await pausedReasonOf(id)).toBe('backlog')
    expect((await update({ status: 'active' })).pausedReason).toBeNull()
    expect((await findRegistration(db, companyId, id))?.pausedAt).toBeNull()
  })
})

it('of equal backlogs all stop, and of paused ones none stops twice', () => {
  const backlog = (id: number, waiting: number, isPaused = false) => ({ id, waiting, isPaused })
  expect(toPause([backlog(1, 51), backlog(2, 51)], 100)).toEqual([1, 2])
  expect(toPause([backlog(1, 90, true), backlog(2, 11), backlog(3, 0)], 100)).toEqual([])
  expect(toPause([], 100)).toEqual([])
})
