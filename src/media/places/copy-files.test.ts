import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createTestFolder } from '../../../test/temporary-folder.ts'
import { createTwins } from '../../../test/twins.ts'
import { type BlobStore, newStorageKey } from '../blobs/blob-store.ts'
import { openFolderBlobStore } from '../blobs/folder-blob-store.ts'
import { withEarlier } from '../blobs/open-blob-store.ts'
import { copyFiles, countMissing } from './copy-files.ts'

const { db } = await createTestDatabase({ mirrors: false })
const { companyId, twinId } = await createTwins(db, {
  contacts: [[1, '39333', '39333']],
  customers: [[1, 1, '39333']],
  identities: [['39333', 1]],
  conversations: [[1, 1, 'open']],
})
const BYTES = 100

type File = { owner: number; key: string; erase(): Promise<unknown> }

const createFile = {
  uploads: async (owner: number): Promise<File> => {
    const key = newStorageKey(owner)
    const id = key.slice(0, 40)
    await db`
      insert into uploads (company_id, id, storage_key, mime_type, size_bytes, sha256)
      values (${owner}, ${id}, ${key}, 'image/png', ${BYTES}, 'digest')
    `
    return { owner, key, erase: async () => db`delete from uploads where company_id = ${owner} and id = ${id}` }
  },
  imports: async (owner: number): Promise<File> => {
    const key = newStorageKey(owner)
    await db`
      insert into contact_imports (company_id, format, columns, storage_key, size_bytes, rows, read_bytes, read_lines)
      values (${owner}, 'csv', '{}', ${key}, ${BYTES}, 1, 0, 0)
    `
    const erase = async () => db`
      update contact_imports set storage_key = null where company_id = ${owner} and storage_key = ${key}
    `
    return { owner, key, erase }
  },
  media: async (owner: number, id: number): Promise<File> => {
    const key = newStorageKey(owner)
    await db`
      insert into messages (company_id, id, conversation_id, seq, direction, type, status)
      overriding system value
      values (${owner}, ${id}, 1, ${id}, 'inbound', 'image', 'received')
    `
    await db`
      insert into media (company_id, message_id, sender_id, provider_media_id, storage_key, state, size_bytes, sha256)
      values (${owner}, ${id}, 1, 'media', ${key}, 'stored', ${BYTES}, 'digest')
    `
    return { owner, key, erase: async () => db`delete from media where company_id = ${owner} and message_id = ${id}` }
  },
}

async function createFiles(count: number, from: BlobStore): Promise<File[]> {
  const files: File[] = []
  for (let n = 1; n <= count; n += 1)
    for (const owner of [companyId, twinId])
      for (const kind of ['uploads', 'imports', 'media'] as const) files.push(await createFile[kind](owner, n))
  for (const { key } of files)
    await from.put(key, Readable.from([randomBytes(BYTES)]), { mimeType: 'image/png', maxBytes: BYTES })
  return files
}

const read = async (store: BlobStore, key: string) => {
  const body = await store.open(key)
  return body && (await buffer(body))
}

test('copies every file of every company once, through kills and erasures', async () => {
  const [folder, from, to] = [
    await createTestFolder(),
    await openFolderBlobStore(await createTestFolder()),
    await openFolderBlobStore(await createTestFolder()),
  ]
  const files = await createFiles(20, from)
  const journal = join(folder, 'journal.ndjson')
  const both = withEarlier(to, from)
  const erased = new Set<File>()
  let puts = 0
  // Every seventh copy kills the run; before every fifth, another file is erased like in the service.
  const dying: BlobStore = {
    ...to,
    put: async (key, body, meta) => {
      puts += 1
      if (puts % 5 === 0) {
        const file = files[(puts * 13) % files.length]
        if (file) {
          await file.erase()
          await both.remove(file.key)
          erased.add(file)
        }
      }
      const measured = await to.put(key, body, meta)
      if (puts % 7 === 0) throw new Error('killed')
      return measured
    },
  }
  const run = (store: BlobStore) => copyFiles({ db, from: both, to: store, journal, isInUse: true })
  for (let runs = 0; runs < 5; runs += 1) {
    const result = await run(dying).catch((error: Error) => error)
    if (result instanceof Error) {
      expect(result.message).toBe('killed')
      expect(existsSync(journal)).toBe(true)
    }
  }
  const last = await run(to)
  expect(last.missing).toBe(0)
  expect(existsSync(journal)).toBe(false)
  expect(erased.size).toBeGreaterThan(3)
  for (const file of files) {
    const there = await read(to, file.key)
    if (erased.has(file)) expect(there, file.key).toBeUndefined()
    else expect(there, file.key).toEqual(await read(from, file.key))
  }
  expect(await run(to)).toEqual({ copied: 0, present: files.length - erased.size, missing: 0, removed: 0 })
  expect(await countMissing(db, { current: to, earlier: from })).toEqual({
    looked: files.length - erased.size,
    uncopied: 0,
    missing: 0,
  })
})

test('a file erased between a copy to a place not in use yet and the next copy goes from there', async () => {
  const [folder, from, to] = [
    await createTestFolder(),
    await openFolderBlobStore(await createTestFolder()),
    await openFolderBlobStore(await createTestFolder()),
  ]
  const file = await createFile.uploads(companyId)
  await from.put(file.key, Readable.from(['bytes']), { mimeType: 'image/png', maxBytes: BYTES })
  const journal = join(folder, 'journal.ndjson')
  await copyFiles({ db, from, to, journal, isInUse: false })
  expect(await to.has(file.key)).toBe(true)
  await file.erase()
  await from.remove(file.key)
  expect(await copyFiles({ db, from: withEarlier(to, from), to, journal, isInUse: true })).toMatchObject({ removed: 1 })
  expect(await to.has(file.key)).toBe(false)
})

test('counts files that are in the earlier place only, or nowhere', async () => {
  const [current, earlier] = [
    await openFolderBlobStore(await createTestFolder()),
    await openFolderBlobStore(await createTestFolder()),
  ]
  const before = await countMissing(db, { current, earlier })
  const [uncopied, missing] = [await createFile.uploads(companyId), await createFile.uploads(twinId)]
  await earlier.put(uncopied.key, Readable.from(['bytes']), { mimeType: 'image/png', maxBytes: BYTES })
  expect(await countMissing(db, { current, earlier })).toEqual({
    looked: before.looked + 2,
    uncopied: 1,
    missing: before.missing + 1,
  })
  await Promise.all([uncopied.erase(), missing.erase()])
})
