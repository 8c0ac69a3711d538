import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createCompany } from '../../test/world.ts'
import { ContactReplyShape, ContactWriteShape, toContactReply, toOwnFields } from '../contacts/contact-shape.ts'
import { createRowReader, exportColumns, lineToBody, toCells, toLine } from '../contacts/write/contact-columns.ts'
import { upsertContacts } from '../contacts/write/contact-upsert.ts'
import { readContactRow } from '../contacts/write/contact-write.ts'
import {
  CONTACT_MEMBERS,
  type Contact,
  type ContactMember,
  eachText,
  OTHER_COLUMNS,
  STATE_MEMBERS,
  type Texts,
} from './contact-record.ts'
import { findContact } from './contact-store.ts'
import { blankContact } from './person-erasure-store.ts'

const { db } = await createTestDatabase()
const members = Object.entries(CONTACT_MEMBERS) as [keyof Contact, ContactMember][]
const written = members.filter(([, { body }]) => body !== null)
const at = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((object, name) => (object as Record<string, unknown> | undefined)?.[name], value)

/** A write with every writable member, each with a distinct value. */
const WRITE = {
  ...(eachText(({ column, rule }) => ('enum' in rule ? rule.enum.at(-1) : `some ${column}`)) as Texts),
  ...{ email: 'ada@example.com', phone: '393331112222', tags: ['a', 'b'], customFields: { tier: 'gold' } },
  ...{ emailConsent: true, whatsappConsent: false },
}

async function createContact(): Promise<{ companyId: number; contact: Contact }> {
  const companyId = await createCompany(db)
  const [contact] = await upsertContacts(db, companyId, [WRITE], { clientId: null, source: 'api' })
  return { companyId, contact: contact! }
}

test('the list of members has every column of contacts', async () => {
  const rows = await db<{ name: string }[]>`
    select attname as name from pg_attribute where attrelid = 'contacts'::regclass and attnum > 0 and not attisdropped
  `
  const listed = [...members.map(([, { column }]) => column), ...Object.keys(OTHER_COLUMNS)]
  expect(listed.toSorted()).toEqual(rows.map(({ name }) => name).toSorted())
})

test('a write sets every member that a caller writes, and a read answers it', async () => {
  expect(written.map(([name]) => name).toSorted()).toEqual([...STATE_MEMBERS].toSorted())
  expect(Object.keys(WRITE).toSorted()).toEqual([...STATE_MEMBERS].toSorted())
  const { companyId, contact } = await createContact()
  expect(contact).toMatchObject(WRITE)
  expect(await findContact(db, companyId, contact.id)).toEqual({ ...contact, emailSuppression: null })
})

test('the record of the API has every member that is shown, and the body of a write every one that is written', async () => {
  const { companyId, contact } = await createContact()
  const [reply, own] = [toContactReply(companyId, contact), toOwnFields(WRITE)]
  for (const [name, { wire, body }] of members) {
    if (wire === null) continue
    const path = wire.replaceAll('.', '.properties.')
    expect([name, at(ContactReplyShape.properties, path)]).toEqual([name, expect.anything()])
    const value = contact[name]
    const expected = value instanceof Date ? value.toISOString() : name === 'phone' ? `+${value}` : value
    expect([name, at(reply, wire)]).toEqual([name, expected])
    if (body === null) continue
    expect([name, at(own, wire)]).toEqual([name, expected])
    const written = at(ContactWriteShape.properties, body.replaceAll('.', '.properties.'))
    expect([name, written]).toEqual([name, expect.anything()])
  }
})

test('a list takes and gives every member that is written, in each format', async () => {
  const { contact } = await createContact()
  const columns = exportColumns(['tier'])
  const ofCells = createRowReader(columns)(toCells(contact, ['tier']))
  for (const row of [ofCells, lineToBody(toLine(contact))]) {
    if ('reason' in row) throw new Error(row.reason)
    expect(row.id).toBe(contact.id)
    expect(readContactRow(row.body, { country: null, known: new Set() })).toEqual({ write: WRITE })
  }
})

test('an erasure leaves only the members of a contact that are not personal', async () => {
  const { companyId, contact } = await createContact()
  await db`
    update contacts set external_connection_id = 7 where (company_id, id) = (${companyId}, ${contact.id})
  `
  const read = async () => {
    const [row] = await db<{ row: Record<string, unknown> }[]>`
      select to_jsonb(contacts) as row from contacts where (company_id, id) = (${companyId}, ${contact.id})
    `
    return row!.row
  }
  const before = await read()
  await blankContact(db, companyId, contact.id)
  const after = await read()
  const unchanged = Object.keys(before).filter(
    (column) => JSON.stringify(before[column]) === JSON.stringify(after[column]),
  )
  expect(unchanged.toSorted()).toEqual(['company_id', 'created_at', 'deleted_at', 'id', 'source_type'])
})
