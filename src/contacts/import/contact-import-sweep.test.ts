import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, expect, test } from 'vitest'
import { createTestCompany } from '../../../test/api.ts'
import { createTestDatabase } from '../../../test/database.ts'
import type { BlobStore } from '../../media/blobs/blob-store.ts'
import { openFolderBlobStore } from '../../media/blobs/folder-blob-store.ts'
import { removeDiscarded } from '../../media/discarded/discarded-file-store.ts'
import { discardLeftLists, discardList, receiveImport } from './contact-import.ts'

const { db } = await createTestDatabase()
const { signal } = new AbortController()
const folder = await mkdtemp(join(tmpdir(), 'parley-lists-'))
afterAll(() => rm(folder, { recursive: true, force: true }))
const blobStore = await openFolderBlobStore(folder)

/** An import left by a killed process: its list is stored, but no process continues. */
async function leave(status: string, age: string) {
  const companyId = await createTestCompany(db)
  const { started } = await receiveImport(
    { db, blobStore },
    companyId,
    { format: 'csv' },
    Readable.from([Buffer.from('email\na@example.com\n')]),
    null,
  )
  await db`
    update contact_imports
    set
      status = ${status},
      created_at = now() - ${age}::interval,
      ended_at = case when ${status} in ('completed', 'failed') then now() - ${age}::interval end
    where company_id = ${companyId}
  `
  return {
    companyId,
    key: started.storageKey!,
    left: async () => {
      const [row] = await db<{ storageKey: string | null }[]>`
        select storage_key from contact_imports where company_id = ${companyId}
      `
      const bytes = await blobStore.open(started.storageKey!)
      bytes?.destroy()
      return { row: row !== undefined, key: row?.storageKey != null, list: bytes !== undefined }
    },
  }
}

test.each([
  ['receiving', '2 days', { row: false, key: false, list: false }],
  ['receiving', '1 hour', { row: true, key: true, list: true }],
  ['completed', '1 hour', { row: true, key: false, list: false }],
  ['failed', '1 hour', { row: true, key: false, list: false }],
  ['queued', '2 days', { row: true, key: true, list: true }],
  ['running', '2 days', { row: true, key: true, list: true }],
])('what is left of an import that is %s for %s', async (status, age, left) => {
  const leftImport = await leave(status, age)
  await discardLeftLists(db)
  await removeDiscarded({ db, blobStore }, signal)
  expect(await leftImport.left()).toEqual(left)
})

test('a list that is refused leaves neither a file nor a row', async () => {
  const companyId = await createTestCompany(db)
  const keys: string[] = []
  const watching: BlobStore = {
    ...blobStore,
    put: (key, body, meta) => {
      keys.push(key)
      return blobStore.put(key, body, meta)
    },
  }
  const bring = receiveImport(
    { db, blobStore: watching },
    companyId,
    { format: 'csv' },
    Readable.from([Buffer.from('city\nRome\n')]),
    null,
  )
  await expect(bring).rejects.toMatchObject({ status: 422 })
  expect(await db`select from contact_imports where company_id = ${companyId}`).toHaveLength(0)
  expect(keys).toHaveLength(1)
  await removeDiscarded({ db, blobStore }, signal)
  expect(await blobStore.open(keys[0]!)).toBeUndefined()
})

test('a list whose commit succeeded, though its answer was lost, stays', async () => {
  const queued = await leave('queued', '1 second')
  const [{ id } = { id: 0 }] = await db<{ id: number }[]>`
    select id from contact_imports where company_id = ${queued.companyId}
  `
  await discardList({ db }, queued.companyId, { id })
  await removeDiscarded({ db, blobStore }, signal)
  expect(await queued.left()).toEqual({ row: true, key: true, list: true })
})
