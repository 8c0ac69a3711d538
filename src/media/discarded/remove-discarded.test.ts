import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { newStorageKey } from '../blobs/blob-store.ts'
import { discardFiles, hasDiscarded, registerUndeletedGauge, removeDiscarded } from './discarded-file-store.ts'

const { db } = await createTestDatabase({ mirrors: false })
const { signal } = new AbortController()

async function discard(companyId: number, count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, () => newStorageKey(companyId))
  await discardFiles(db, companyId, keys)
  return keys
}

function createStore(fails: (key: string) => boolean = () => false) {
  const removed: string[] = []
  const remove = async (key: string) => {
    if (fails(key)) throw new Error(`cannot delete ${key}`)
    removed.push(key)
  }
  return { removed, remove }
}

test('files are deleted once, those of one company apart from others', async () => {
  const [own, other] = [await discard(1, 40), await discard(2, 3)]
  await discardFiles(db, 1, own)
  const store = createStore()
  await removeDiscarded({ db, blobStore: store }, signal, 1)
  expect(store.removed.toSorted()).toEqual(own.toSorted())
  expect([await hasDiscarded(db, 1), await hasDiscarded(db, 2)]).toEqual([false, true])
  await removeDiscarded({ db, blobStore: store }, signal)
  expect(store.removed.slice(40).toSorted()).toEqual(other.toSorted())
})

test('a file that cannot be deleted keeps no other one, and is tried again later', async () => {
  const [bad = '', ...others] = await discard(3, 40)
  const store = createStore((key) => key === bad)
  const run = () => removeDiscarded({ db, blobStore: store }, signal, 3)
  await expect(run()).rejects.toThrow(`cannot delete ${bad}`)
  expect(store.removed.toSorted()).toEqual(others.toSorted())
  await run()
  const waits = () => db`
    select attempts, round(extract(epoch from due_at - now()) / 30)::integer as halves from discarded_files where company_id = 3
  `
  expect(await waits()).toEqual([{ attempts: 1, halves: 1 }])
  for (let tries = 0; tries < 10; tries += 1) {
    await db`update discarded_files set due_at = now()`
    await expect(run()).rejects.toThrow()
  }
  expect(await waits()).toEqual([{ attempts: 11, halves: 120 }])

  const registry = new Registry()
  registerUndeletedGauge(registry, db)
  expect(await registry.metrics()).toContain('\nparley_undeleted_files 1\n')
})

test('a storage that refuses everything is asked for one batch of files', async () => {
  await discard(4, 40)
  let calls = 0
  const remove = () => {
    calls += 1
    return Promise.reject(new Error('AccessDenied'))
  }
  await expect(removeDiscarded({ db, blobStore: { remove } }, signal, 4)).rejects.toThrow('AccessDenied')
  expect(calls).toBe(16)
})
