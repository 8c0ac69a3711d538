import { expect, test, vi } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { holdOpen } from '../../../test/held-locks.ts'
import { createCompany } from '../../../test/world.ts'
import { connect } from '../../db/connect.ts'
import { createCompanySlots, onBehalfOf, shareFairly } from '../../db/pool/fair-pool.ts'
import type { ContactWrite } from '../../people/contact-record.ts'
import { lockCustomers } from '../../people/customer-store.ts'
import { upsertContacts } from './contact-upsert.ts'

const BY = { clientId: null, source: 'api' }

const { db, url } = await createTestDatabase({ mirrors: true })
const upsert = (companyId: number, write: ContactWrite) => upsertContacts(db, companyId, [write], BY)
const emailOf = (n: number) => `ada${n}@example.com`

test('single contacts that come at once share transactions, and each is answered with its own contact', async () => {
  const companyId = await createCompany(db)
  const writes = Array.from({ length: 50 }, (_, n) => ({ email: emailOf(n), firstName: `Ada ${n}` }))
  const answers = await Promise.all(writes.map((write) => upsert(companyId, write)))
  expect(answers.map((contacts) => contacts.map(({ email, firstName }) => ({ email, firstName })))).toEqual(
    writes.map((write) => [write]),
  )
  // Each transaction with new contacts adds one row.
  const changes = await db<{ change: number }[]>`select change from contact_changes where company_id = ${companyId}`
  expect(changes.reduce((sum, { change }) => sum + change, 0)).toBe(50)
  expect(changes.length).toBeLessThanOrEqual(4)
})

test('a contact that is refused leaves the contacts that came with it', async () => {
  const companyId = await createCompany(db)
  const fieldsOf = (name: string) => Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`${name}${n}`, n]))
  await upsert(companyId, { email: emailOf(1), customFields: fieldsOf('a') })
  const answers = await Promise.allSettled([
    upsert(companyId, { email: emailOf(0), firstName: 'Ada' }),
    upsert(companyId, { email: emailOf(1), customFields: fieldsOf('b') }),
    upsert(companyId, { email: emailOf(2), firstName: 'Ada' }),
  ])
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(answers[1]).toMatchObject({ reason: { status: 422 } })
  const stored = await db`select email, first_name from contacts where company_id = ${companyId} order by email`
  expect(stored.map(({ email, firstName }) => [email, firstName])).toEqual([
    [emailOf(0), 'Ada'],
    [emailOf(1), null],
    [emailOf(2), 'Ada'],
  ])
})

test('a contact that another process has locked does not delay the contacts that came with it', async () => {
  const companyId = await createCompany(db)
  const other = connect(url, { max: 1 })
  const release = await holdOpen(other, (tx) => lockCustomers(tx, [{ companyId, identity: `mailto:${emailOf(3)}` }]))
  let isWritten = false
  const answers = Array.from({ length: 6 }, (_, n) => upsert(companyId, { email: emailOf(n) }))
  void answers[3]!.then(() => {
    isWritten = true
  })
  await Promise.all(answers.filter((_, n) => n !== 3))
  expect(isWritten).toBe(false)
  await release()
  await expect(answers[3]).resolves.toMatchObject([{ email: emailOf(3) }])
  await other.end()
})

/** Two contacts sharing a transaction, without a slot until `start`; each flag keeps its caller connected. */
async function waitForSlot(companyId: number, connected: [boolean, boolean]) {
  const { run } = createCompanySlots({ slots: 1, maxWaiting: 100, maxWaitMs: 20_000, maxHeavyWaitMs: 20_000 })
  const asked = vi.fn()
  const fair = shareFairly(db, {
    run: (request, work) => {
      asked()
      return run(request, work)
    },
  })
  const as = <T>(isAwaited: () => boolean, work: () => Promise<T>) =>
    onBehalfOf({ companyId, isHeavy: false, isAwaited }, work)
  const { promise, resolve: start } = Promise.withResolvers<void>()
  const held = as(
    () => true,
    () => fair.begin(() => promise),
  )
  const answers = connected.map((_, n) =>
    as(
      () => connected[n] === true,
      () => upsertContacts(fair, companyId, [{ email: emailOf(n) }], BY),
    ),
  )
  await vi.waitFor(() => expect(asked).toHaveBeenCalledTimes(2), { timeout: 90_000 })
  return { start, outcomes: Promise.allSettled([...answers, held]) }
}

test.each([
  ['runs when only the first of its callers hangs up', [false, true], 2],
  ['is dropped when all of its callers hang up', [false, false], 0],
])('a shared transaction that waits for its slot %s', async (_, left, written) => {
  const companyId = await createCompany(db)
  const connected: [boolean, boolean] = [true, true]
  const { start, outcomes } = await waitForSlot(companyId, connected)
  connected.splice(0, 2, ...left)
  start()
  await outcomes
  expect(await db`select from contacts where company_id = ${companyId}`).toHaveLength(written)
})
