import fc from 'fast-check'
import { expect, test } from 'vitest'
import { propertyRuns } from '../../../test/run/property-runs.ts'
import { INITIAL_TEXTS } from '../../people/contact-record.ts'
import type { Match } from '../../people/matching/identity-store.ts'
import { applyItems, changesOf, type Item } from './contact-batch.ts'

/** A contact of the model: phones are their own identities, emails are in lower case. */
type Row = { id: number; email: string | null; phone: string | null; firstName: string | null }
type World = { rows: Row[]; customers: Map<string, number> }
type Write = { email: string | null; phone: string | null; firstName: string }

/** The rules of the specification, one write after another, on the whole company. */
function upsertOne(world: World, write: Write, newId: number): Row {
  const { rows, customers } = world
  const holders = rows.filter((row) => row.phone === write.phone && write.phone !== null)
  // A contact matches its customers' identities, unless it has a phone outside them.
  const isKnownBy = (row: Row) => row.phone === null || identitiesOf(world, row).includes(row.phone)
  const ofCustomer = rows.find((row) => write.phone !== null && row.id === customers.get(write.phone) && isKnownBy(row))
  const existing =
    rows.find((row) => row.email === write.email && write.email !== null) ??
    holders.toSorted((a, b) => a.id - b.id)[0] ??
    ofCustomer
  if (existing === undefined) {
    const row = { ...write, id: newId }
    rows.push(row)
    return { ...row }
  }
  existing.email = write.email ?? existing.email
  existing.phone = write.phone ?? existing.phone
  existing.firstName = write.firstName
  return { ...existing }
}

const identitiesOf = ({ customers }: World, { id }: Row): string[] =>
  [...customers].filter(([, contactId]) => contactId === id).map(([identity]) => identity)

/** The result that `readMatches` promises, computed naively. */
function matchesOf(world: World, writes: readonly Write[]): Match[] {
  const { rows, customers } = world
  const phones = writes.flatMap(({ phone }) => (phone === null ? [] : [phone]))
  const isDirect = (row: Row) =>
    writes.some(({ email }) => email !== null && email === row.email) ||
    phones.some((phone) => customers.get(phone) === row.id)
  const isHolder = (row: Row) => {
    const others = rows.filter((other) => other.phone === row.phone && !isDirect(other)).map(({ id }) => id)
    const names = phones.filter((phone) => phone === row.phone).length
    return others
      .toSorted((a, b) => a - b)
      .slice(0, names)
      .includes(row.id)
  }
  return rows
    .filter((row) => isDirect(row) || isHolder(row))
    .map((row) => ({
      ...{ id: row.id, email: row.email, phone: row.phone, ...INITIAL_TEXTS, firstName: row.firstName },
      ...{ emailKey: row.email, phoneIdentity: row.phone },
      ...{ customFields: {}, tags: [], emailConsent: null, whatsappConsent: null, externalId: null },
      ...{ externalConnectionId: null, createdAt: new Date(0), updatedAt: new Date(0) },
      identities: phones.some((phone) => customers.get(phone) === row.id) ? identitiesOf(world, row) : [],
    }))
}

const toItem = (write: Write): Item => ({
  write: {
    ...(write.email !== null && { email: write.email }),
    ...(write.phone !== null && { phone: write.phone }),
    firstName: write.firstName,
  },
  emailKey: write.email,
  phoneIdentity: write.phone,
})

const EMAILS = ['a@x.org', 'b@x.org', 'c@x.org', 'd@x.org', null]
const PHONES = ['393330000001', '393330000002', '393330000003', null]
const email = fc.constantFrom(...EMAILS)
const phone = fc.constantFrom(...PHONES)
const write = fc
  .record({ email, phone, firstName: fc.constantFrom('Ada', 'Bob') })
  .filter((one) => one.email !== null || one.phone !== null)
const world = fc
  .record({
    rows: fc.uniqueArray(fc.record({ email, phone }), {
      maxLength: 7,
      comparator: (a, b) => a.email !== null && a.email === b.email,
    }),
    customers: fc.array(fc.tuple(fc.constantFrom('393330000001', '393330000002', '393330000003'), fc.nat(6))),
  })
  .map(({ rows, customers }) => ({
    rows: rows.map((row, place): Row => ({ ...row, id: place + 1, firstName: null })),
    customers: new Map(customers.filter(([, place]) => place < rows.length).map(([one, place]) => [one, place + 1])),
  }))

test('a batch on the loaded matches does what its items do one after another on the whole company', async () => {
  await fc.assert(
    fc.asyncProperty(world, fc.array(write, { minLength: 1, maxLength: 14 }), async (before, writes) => {
      const batch = await applyItems(writes.map(toItem), matchesOf(before, writes), {
        whenFull: 'refuse',
        source: 'api',
      })
      const { results } = batch
      const model: World = { rows: before.rows.map((row) => ({ ...row })), customers: before.customers }
      const expected = writes.map((one, place) => upsertOne(model, one, 1_000 + place))
      const newIds = new Map(results.map(({ target }, place) => [target.id, 1_000 + place] as const).toReversed())
      const idOf = (id: number) => (id < 1_000 ? id : newIds.get(id))
      expect(
        results.map(({ target, state }) => ({
          id: idOf(target.id),
          email: state.email,
          phone: state.phone,
          firstName: state.firstName,
        })),
      ).toEqual(expected)
      const after = new Map(before.rows.map((row) => [row.id, row]))
      for (const { state } of changesOf(batch).contacts) {
        const id = idOf(state.id)!
        after.set(id, { id, email: state.email, phone: state.phone, firstName: state.firstName })
      }
      const byId = (rows: Iterable<Row>) => [...rows].toSorted((a, b) => a.id - b.id)
      expect(byId(after.values())).toEqual(byId(model.rows))
    }),
    { numRuns: propertyRuns(1_000) },
  )
})
