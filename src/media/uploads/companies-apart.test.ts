import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { ALL } from '../../../test/lifetimes.ts'
import { createTwins, keepsRows } from '../../../test/twins.ts'
import { findMedia, markErased } from '../media-store.ts'
import {
  carryUploads,
  completeUpload,
  deleteUpload,
  deleteUploads,
  findStoredUpload,
  findUpload,
  insertUpload,
  keepCarried,
  lockDueUploads,
  readUnsent,
  saveUploadCopy,
} from './upload-store.ts'

// Companies whose messages and uploads have the same ids.
const { db } = await createTestDatabase()

const fileOf = (companyId: number) => ({
  id: 'med_1',
  mimeType: 'image/png',
  filename: `file of ${companyId}`,
  sizeBytes: 3,
  sha256: `digest of ${companyId}`,
})

async function createUploads() {
  const { companyId, twinId } = await createTwins(db, {
    contacts: [[1, '39333', '39333']],
    customers: [[1, 1, '39333']],
    identities: [['39333', 1]],
    conversations: [[1, 1, 'open']],
  })
  for (const id of [companyId, twinId]) {
    await db`
      insert into messages (company_id, id, conversation_id, seq, direction, type, status)
      overriding system value
      values (${id}, 1, 1, 1, 'outbound', 'image', 'sent')
    `
    await insertUpload(db, id, 'med_1', `key of ${id}`)
  }
  return { companyId, twinId }
}

const carriedBy = (companyId: number) => ({ companyId, messageId: 1, senderId: 1, uploadId: 'med_1' })
const due = (companyId: number) => db`update uploads set due_at = now() where company_id = ${companyId}`

test('a file is completed, found and deleted in its company', async () => {
  const { companyId, twinId } = await createUploads()
  await keepsRows(db, twinId, () => completeUpload(db, companyId, fileOf(companyId), 30))
  expect(await findUpload(db, companyId, 1, 'med_1', 25)).toEqual({
    ...fileOf(companyId),
    storageKey: `key of ${companyId}`,
    providerMediaId: null,
  })
  expect(await findUpload(db, twinId, 1, 'med_1', 25)).toBeUndefined()
  expect(await findStoredUpload(db, companyId, 'med_1')).toEqual({
    ...fileOf(companyId),
    storageKey: `key of ${companyId}`,
  })
  expect(await findStoredUpload(db, twinId, 'med_1')).toBeUndefined()
  expect(await readUnsent(db, companyId)).toEqual({ files: 1, bytes: 3 })
  expect(await readUnsent(db, twinId)).toEqual({ files: 1, bytes: 0 })
  await keepsRows(db, companyId, () => deleteUpload(db, twinId, 'med_1'))
  expect(await readUnsent(db, twinId)).toEqual({ files: 0, bytes: 0 })
  expect(await deleteUpload(db, companyId, 'med_1')).toBe(false)
})

test('the id at a provider is that of the file of the company', async () => {
  const { companyId, twinId } = await createUploads()
  for (const id of [companyId, twinId]) await completeUpload(db, id, fileOf(id), 30)
  const copy = { uploadId: 'med_1', senderId: 1, providerMediaId: '77' }
  await keepsRows(db, twinId, () => saveUploadCopy(db, companyId, copy))
  expect(await findUpload(db, companyId, 1, 'med_1', 25)).toMatchObject({ providerMediaId: '77' })
  expect(await findUpload(db, twinId, 1, 'med_1', 25)).toMatchObject({ providerMediaId: null })
  await db`update upload_copies set created_at = now() - interval '26 days'`
  expect(await findUpload(db, companyId, 1, 'med_1', 25)).toMatchObject({ providerMediaId: null })
})

test('a message carries the file of its company, until it is erased', async () => {
  const { companyId, twinId } = await createUploads()
  for (const id of [companyId, twinId]) await completeUpload(db, id, fileOf(id), 30)
  await keepsRows(db, twinId, () => carryUploads(db, [carriedBy(companyId)]))
  await carryUploads(db, [carriedBy(twinId)])
  for (const id of [companyId, twinId]) {
    expect(await findMedia(db, id, 1)).toMatchObject({ state: 'stored', storageKey: `key of ${id}` })
    await due(id)
  }
  await keepsRows(db, twinId, () => markErased(db, companyId, [1]))
  const kept = await db.begin(async (tx) => {
    const locked = await lockDueUploads(tx, ALL)
    expect(locked.map((one) => one.companyId).toSorted((a, b) => a - b)).toEqual([companyId, twinId])
    const unused = await keepCarried(tx, locked)
    expect(unused).toEqual([{ companyId, id: 'med_1', storageKey: `key of ${companyId}` }])
    await deleteUploads(tx, unused)
    return lockDueUploads(tx, ALL)
  })
  expect(kept).toEqual([])
  expect(await findUpload(db, twinId, 1, 'med_1', 25)).toBeDefined()
})

test('files that are due are looked for in one company', async () => {
  const { companyId, twinId } = await createUploads()
  for (const id of [companyId, twinId]) await due(id)
  const locked = await db.begin((tx) => lockDueUploads(tx, ALL, companyId))
  expect(locked).toEqual([{ companyId, id: 'med_1', storageKey: `key of ${companyId}` }])
})

test('a file that was deleted meanwhile is not carried', async () => {
  const { companyId } = await createUploads()
  await carryUploads(db, [{ ...carriedBy(companyId), uploadId: 'med_gone' }])
  expect(await findMedia(db, companyId, 1)).toBeUndefined()
})
