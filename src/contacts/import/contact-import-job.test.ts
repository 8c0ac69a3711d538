import { Readable } from 'node:stream'
import { afterAll, expect, test } from 'vitest'
import { createTestCompany } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { createTestFolder } from '../../../test/temporary-folder.ts'
import { connect } from '../../db/connect.ts'
import { openFolderBlobStore } from '../../media/blobs/folder-blob-store.ts'
import { receiveImport } from './contact-import.ts'
import { importKind } from './contact-import-run.ts'

const { db, url } = await createTestDatabase()
const folder = await createTestFolder()
const impatient = connect(url, {
  max: 2,
  optOutKey: 'key-of-the-tests',
  limits: { statementMs: 5_000, lockMs: 50, idleInTransactionMs: 5_000 },
})
afterAll(() => impatient.end())

test('an import that meets locks ten times and more is not given up', async () => {
  const blobStore = await openFolderBlobStore(folder)
  const companyId = await createTestCompany(db)
  const list = Readable.from([Buffer.from('email\nada@example.com\n')])
  const { started } = await receiveImport({ db, blobStore }, companyId, { format: 'csv' }, list, null)
  const kind = importKind({ db: impatient, blobStore, sourceType: 'parley', onSlice: () => {} })
  const run = (attempts: number) =>
    kind.handle(
      {
        ...{ id: 1, claimId: '', kind: kind.kind, lane: '', companyId, subjectId: started.id, attempts },
        ...{ dueAt: new Date(), createdAt: new Date() },
      },
      new AbortController().signal,
    )
  await db.begin(async (tx) => {
    await tx`select from contact_imports where id = ${started.id} for update`
    for (const attempts of [0, 9, 99]) expect(await run(attempts)).toMatchObject({ outcome: 'retry', counts: false })
  })
  expect(await run(99)).toEqual({ outcome: 'done' })
  const [row] = await db`select status, created from contact_imports where id = ${started.id}`
  expect(row).toEqual({ status: 'completed', created: 1 })
})
