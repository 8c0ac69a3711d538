import type { Db, Pool } from '../../db/connect.ts'
import type { Contact } from '../../people/contact-record.ts'
import { contactColumns } from '../../people/contact-store.ts'
import { runExclusive } from '../../people/matching/identity-lock.ts'
import { validationError } from '../../platform/errors.ts'
import { type CsvStyle, toCsvHeader, toCsvRow } from '../../platform/text/lists/csv.ts'
import type { ListFormat } from '../../platform/text/lists/list-scan.ts'
import { RECORD_MAX_BYTES } from '../../platform/text/lists/record-reader.ts'
import { exportColumns, toCells, toLine } from '../write/contact-columns.ts'

const CSV_MAX_CUSTOM_KEYS = 1_000
/** Larger pages would block other requests for longer. */
const CONTACTS_AT_ONCE = 100

/** Exports living contacts in import format. Throws 422 if CSV would have too many columns. */
export async function exportContacts(
  db: Pool,
  companyId: number,
  format: ListFormat,
  style: CsvStyle = {},
): Promise<AsyncGenerator<string>> {
  if (format === 'ndjson') {
    return writePages(db, companyId, '', (contacts) => contacts.map((contact) => `${toLine(contact)}\n`).join(''))
  }
  const keys = await readCustomKeys(db, companyId, CSV_MAX_CUSTOM_KEYS + 1)
  const header = toCsvHeader(exportColumns(keys), style)
  if (keys.length > CSV_MAX_CUSTOM_KEYS || Buffer.byteLength(header) > RECORD_MAX_BYTES) {
    throw validationError([{ path: 'format', message: 'must be ndjson: there are too many custom fields for a table' }])
  }
  return writePages(db, companyId, header, (contacts) =>
    contacts.map((contact) => toCsvRow(toCells(contact, keys), style)).join(''),
  )
}

/** Reads one page at a time per company, also across concurrent exports. */
async function* writePages(db: Pool, companyId: number, head: string, write: (contacts: Contact[]) => string) {
  if (head !== '') yield head
  for (let after = 0; ; ) {
    const page = await runExclusive(db, companyId, ['export'], async () => {
      const contacts = await readContactsAfter(db, companyId, after, CONTACTS_AT_ONCE)
      return { text: write(contacts), lastId: contacts.at(-1)?.id, isLast: contacts.length < CONTACTS_AT_ONCE }
    })
    if (page.text !== '') yield page.text
    if (page.isLast || page.lastId === undefined) return
    after = page.lastId
  }
}

export async function readContactsAfter(db: Db, companyId: number, id: number, limit: number): Promise<Contact[]> {
  return db<Contact[]>`
    select ${contactColumns}
    from contacts
    where company_id = ${companyId}
      and id > ${id}
      and deleted_at is null
    order by id
    limit ${limit}
  `
}

/** Returns up to `limit` custom field keys in use, sorted. */
export async function readCustomKeys(db: Db, companyId: number, limit: number): Promise<string[]> {
  const rows = await db<{ key: string }[]>`
    select distinct key collate "C" as key
    from contacts
    cross join lateral jsonb_object_keys(custom_fields) as key
    where company_id = ${companyId} and deleted_at is null and custom_fields <> '{}'
    order by 1
    limit ${limit}
  `
  return rows.map((row) => row.key)
}
