import type { Db } from '../db/connect.ts'
import { validationError } from '../errors.ts'
import { exportColumns, toCells, toLine } from './contact-columns.ts'
import { readContactsAfter, readCustomKeys } from './contact-export-store.ts'
import type { Contact } from './contact-record.ts'
import { type CsvStyle, toCsvRow } from './csv.ts'
import { RECORD_MAX_BYTES } from './record-reader.ts'

export type ListFormat = 'csv' | 'ndjson'

const CSV_MAX_CUSTOM_KEYS = 1_000
const CONTACTS_AT_ONCE = 1_000

/**
 * The company's living contacts that have an email or a phone, by id, as text in parts: what an import of it would find
 * unchanged. A contact that is there from beginning to end comes once. 422 when there are more custom fields than a
 * table should have columns.
 */
export async function exportContacts(
  db: Db,
  companyId: number,
  format: ListFormat,
  style: CsvStyle = {},
): Promise<AsyncGenerator<string>> {
  if (format === 'ndjson') {
    return writePages(db, companyId, '', (contacts) => contacts.map((contact) => `${toLine(contact)}\n`).join(''))
  }
  const keys = await readCustomKeys(db, companyId, CSV_MAX_CUSTOM_KEYS + 1)
  const header = toCsvRow(exportColumns(keys), style)
  if (keys.length > CSV_MAX_CUSTOM_KEYS || Buffer.byteLength(header) > RECORD_MAX_BYTES) {
    throw validationError([{ path: 'format', message: 'must be ndjson: there are too many custom fields for a table' }])
  }
  return writePages(db, companyId, header, (contacts) =>
    contacts.map((contact) => toCsvRow(toCells(contact, keys), style)).join(''),
  )
}

async function* writePages(db: Db, companyId: number, head: string, write: (contacts: Contact[]) => string) {
  if (head !== '') yield head
  for (let after = 0; ; ) {
    const contacts = await readContactsAfter(db, companyId, after, CONTACTS_AT_ONCE)
    if (contacts.length > 0) yield write(contacts)
    const last = contacts.at(-1)
    if (last === undefined || contacts.length < CONTACTS_AT_ONCE) return
    after = last.id
  }
}
