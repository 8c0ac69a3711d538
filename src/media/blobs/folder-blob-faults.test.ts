import { spawn, spawnSync } from 'node:child_process'
import { pbkdf2 } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, constants, openSync } from 'node:fs'
import { mkdir, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { canMount, fillDisk, makeReadOnly, mountDisk, removeDisk } from '../../../test/faults/database/disk.ts'
import { createTestFolder } from '../../../test/temporary-folder.ts'
import { type BlobStore, newStorageKey } from './blob-store.ts'
import { openFolderBlobStore } from './folder-blob-store.ts'

const META = { mimeType: 'image/png', maxBytes: 1_000_000 }
const folder = await createTestFolder()
let _blobStore: BlobStore

beforeAll(async () => {
  _blobStore = await openFolderBlobStore(folder)
})

const filesIn = async (place: string): Promise<string[]> => {
  const found = await readdir(place, { recursive: true, withFileTypes: true })
  return found.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
}

test('a process killed while it writes leaves nothing under the key', async () => {
  const place = await createTestFolder()
  const key = newStorageKey(7)
  const program = `
    import { readdir } from 'node:fs/promises'
    import { Readable } from 'node:stream'
    const { openFolderBlobStore } = await import(process.argv[1])
    const blobStore = await openFolderBlobStore(process.argv[2])
    async function* slow() {
      yield Buffer.alloc(200_000, 1)
      yield Buffer.alloc(200_000, 1)
      // Streams request more before their file is open.
      while ((await readdir(process.argv[2] + '/unfinished', { recursive: true })).length < 2) {}
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
  const after = await openFolderBlobStore(place)
  expect(await filesIn(place)).toEqual([])
  expect(await after.open(key)).toBeUndefined()
  await after.put(key, Readable.from(['whole']), { mimeType: 'image/png', maxBytes: 10 })
  expect(await after.open(key)).toBeDefined()
})

test.skipIf(!canMount())('a disk that is full or read-only takes no file, and says so', async () => {
  const place = mountDisk(await createTestFolder())
  onTestFinished(() => removeDisk(place))
  const store = await openFolderBlobStore(place)
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
  await expect(openFolderBlobStore(place)).rejects.toMatchObject(readOnly)
  expect(await filesIn(join(place, 'unfinished'))).toEqual([])
})

test('a folder that hangs fails within its deadline, and leaves threads to others', async () => {
  const place = await createTestFolder()
  const store = await openFolderBlobStore(place)
  const keys = Array.from({ length: 8 }, () => newStorageKey(7))
  const paths = keys.map((key) => join(place, key.slice(2, 4), key.slice(4, 6), key))
  for (const path of paths) {
    await mkdir(dirname(path), { recursive: true })
    // Opening a FIFO blocks, like a network disk with a dead server.
    expect(spawnSync('mkfifo', [path]).status).toBe(0)
  }
  const reads = await Promise.allSettled(keys.map((key) => store.open(key)))
  expect(reads.map(({ status }) => status)).toEqual(keys.map(() => 'rejected'))
  for (const read of reads) expect(read).toMatchObject({ reason: { name: 'StorageFailure' } })
  // Needs a libuv thread, like DNS lookups.
  expect(await promisify(pbkdf2)('secret', 'salt', 1, 16, 'sha256')).toHaveLength(16)
  for (const path of paths) closeSync(openSync(path, constants.O_RDWR | constants.O_NONBLOCK))
})
