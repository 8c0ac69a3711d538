import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { createTestCompany } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { createTestFolder } from '../../../test/temporary-folder.ts'
import { openFolderBlobStore } from '../../media/blobs/folder-blob-store.ts'
import { encodeText, LIST_ENCODINGS } from '../../platform/text/lists/encoding.ts'
import { receiveImport } from './contact-import.ts'
import { runImport } from './contact-import-run.ts'

const { db } = await createTestDatabase({ mirrors: true })
const blobStore = await openFolderBlobStore(await createTestFolder())

const ROWS = 1_000

test.each(LIST_ENCODINGS)('an import in %s goes on at the byte where it stopped', async (encoding) => {
  const companyId = await createTestCompany(db)
  const rows = Array.from({ length: ROWS }, (_, i) => `p${i}@example.com\t"Zoë\r\n""${i}"""\tyes`)
  const text = `sep=\t\r\nemail\tfirst_name\tmarketing_consent.email\r\n${rows.join('\r\n')}\r\nwrong\t\t\r\n`
  const list = Readable.from([Buffer.from(encodeText(text, encoding) ?? [])])
  const deps = { db, blobStore, sourceType: 'parley' }
  const { started } = await receiveImport(deps, companyId, { format: 'csv' }, list, null)
  expect(started).toMatchObject({ encoding, delimiter: '\t', rows: ROWS + 1 })
  const { signal } = new AbortController()
  const places = new Set<number>()
  for (let outcome = 'paused'; outcome !== 'completed'; ) {
    let batches = 0
    // One batch for each start.
    const pause = () => {
      batches += 1
      return batches > 1
    }
    outcome = await runImport(deps, companyId, started.id, { signal, pause })
    const [row] = await db<{ readBytes: number }[]>`
      select read_bytes from contact_imports where (company_id, id) = (${companyId}, ${started.id})
    `
    places.add(row!.readBytes)
  }
  expect(places.size).toBeGreaterThanOrEqual(3)
  const [done] = await db`
    select created, refused from contact_imports where (company_id, id) = (${companyId}, ${started.id})
  `
  expect(done).toEqual({ created: ROWS, refused: 1 })
  const [stored] = await db`
    select count(*), count(distinct first_name) as names, min(first_name) as first,
      (select count(*) from consents where company_id = ${companyId}) as consents,
      (select line from contact_import_refusals where (company_id, import_id) = (${companyId}, ${started.id})) as line
    from contacts where company_id = ${companyId}
  `
  expect(stored).toEqual({ count: ROWS, names: ROWS, first: 'Zoë\r\n"0"', consents: ROWS, line: 2 * ROWS + 3 })
})
