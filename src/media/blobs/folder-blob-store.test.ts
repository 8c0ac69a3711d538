import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { canMount, fillDisk, makeReadOnly, mountDisk, removeDisk } from '../../../test/faults/database/disk.ts'
import { createTestFolder } from '../../../test/temporary-folder.ts'
import { systemClock } from '../../clock.ts'
import { type BlobStore, newStorageKey } from './blob-store.ts'
import { blobStoreSuite } from './blob-store-suite.ts'
import { openFolderBlobStore } from './folder-blob-store.ts'

const META = { mimeType: 'image/png', maxBytes: 1_000_000 }
const folder = await createTestFolder()
let blobStore: BlobStore
beforeAll(async () => {
  blobStore = await openFolderBlobStore(folder, systemClock.now())
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

test('a process killed while it writes leaves nothing under the key', async () => {
  const place = await createTestFolder()
  const key = newStorageKey(7)
  const program = `
    import { readdir } from 'node:fs/promises'
    import { Readable } from 'node:stream'
    const { openFolderBlobStore } = await import(process.argv[1])
    const blobStore = await openFolderBlobStore(process.argv[2], new Date())
    async function* slow() {
      yield Buffer.alloc(200_000, 1)
      yield Buffer.alloc(200_000, 1)
      // A stream asks for more before its file is open.
      while ((await readdir(process.argv[2] + '/unfinished')).length === 0) {}
      process.stdout.write('writing')
      await new Promise((resolve) => setTimeout(resolve, 60_000))
    }
    await blobStore.put(process.argv[3], Readable.from(slow()), { mimeType: 'image/png', maxBytes: 1_000_000 })
  `
  const source = new URL('folder-blob-store.ts', import.meta.url).href
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program, source, place, key])
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'exit')

  const left = await filesIn(place)
  expect(left).toHaveLength(1)
  const after = await openFolderBlobStore(place, systemClock.now())
  expect(await after.open(key)).toBeUndefined()
  await after.put(key, Readable.from(['whole']), { mimeType: 'image/png', maxBytes: 10 })
  expect(await after.open(key)).toBeDefined()
})

test.skipIf(!canMount())('a disk that is full or read-only takes no file, and says so', async () => {
  const place = mountDisk(await createTestFolder())
  onTestFinished(() => removeDisk(place))
  const store = await openFolderBlobStore(place, systemClock.now())
  const put = () => store.put(newStorageKey(7), Readable.from(Buffer.alloc(100_000)), META)
  await put()
  const giveBack = fillDisk(place)!
  await expect(put()).rejects.toMatchObject({
    code: 'ENOSPC',
    message: `The disk of the data folder ${place} is full. Free some space, or set DATA_DIR to a folder on another disk`,
  })
  giveBack()
  await put()
  makeReadOnly(place)
  const readOnly = { code: 'EROFS', message: expect.stringContaining(`${place} can't be used: its disk is read-only.`) }
  await expect(put()).rejects.toMatchObject(readOnly)
  await expect(openFolderBlobStore(place, systemClock.now())).rejects.toMatchObject(readOnly)
  expect(await filesIn(join(place, 'unfinished'))).toEqual([])
})

test('unfinished files are deleted at a later start, files that are being written are not', async () => {
  const place = await createTestFolder()
  await openFolderBlobStore(place, systemClock.now())
  const old = join(place, 'unfinished', 'old')
  await writeFile(old, 'half')
  await writeFile(join(place, 'unfinished', 'young'), 'half')
  await utimes(old, 1_000, 1_000)
  await openFolderBlobStore(place, systemClock.now())
  expect(await readdir(join(place, 'unfinished'))).toEqual(['young'])
})
