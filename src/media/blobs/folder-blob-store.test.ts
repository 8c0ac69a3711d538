import { readdirSync, readlinkSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { beforeAll, expect, test } from 'vitest'
import { createTestFolder } from '../../../test/temporary-folder.ts'
import { type BlobStore, newStorageKey } from './blob-store.ts'
import { blobStoreSuite } from './blob-store-suite.ts'
import { openFolderBlobStore } from './folder-blob-store.ts'

const META = { mimeType: 'image/png', maxBytes: 1_000_000 }
const folder = await createTestFolder()
let blobStore: BlobStore

beforeAll(async () => {
  blobStore = await openFolderBlobStore(folder)
})

blobStoreSuite('a folder', () => blobStore)

const filesIn = async (place: string): Promise<string[]> => {
  const found = await readdir(place, { recursive: true, withFileTypes: true })
  return found.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
}

test('files lie two folders deep, and nothing unfinished beside them', async () => {
  const key = newStorageKey(42)
  await blobStore.put(key, Readable.from(['x']), { mimeType: 'text/plain', maxBytes: 10 })
  expect(await filesIn(folder)).toContain(join(folder, key.slice(3, 5), key.slice(5, 7), key))
  expect(await filesIn(join(folder, 'unfinished'))).toEqual([])
})

/** Returns the files this process has open below a folder. */
const openFilesIn = (place: string): string[] =>
  readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`)
      return path.startsWith(place) ? [path] : []
    } catch {
      return []
    }
  })

test.skipIf(process.platform !== 'linux')('files that nobody reads on are not open', async () => {
  const key = newStorageKey(3)
  const bytes = Buffer.alloc(900_000, 'abc')
  await blobStore.put(key, Readable.from([bytes]), META)
  const streams: Readable[] = []
  for (let n = 0; n < 50; n += 1) {
    const stream = await blobStore.open(key)
    if (stream) streams.push(stream)
    expect(stream?.read(1)).toBeDefined()
  }
  await expect.poll(() => openFilesIn(folder)).toEqual([])
  expect((await buffer(streams[0]!)).length).toBeGreaterThan(bytes.length - 100_000)
  for (const stream of streams) stream.destroy()
})
