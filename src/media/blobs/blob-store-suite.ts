import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { type BlobStore, newStorageKey } from './blob-store.ts'

const MAX_BYTES = 1_000_000
const META = { mimeType: 'image/png', maxBytes: MAX_BYTES }

/** Tests every blob store against the port. */
export function blobStoreSuite(name: string, blobStoreOf: () => BlobStore): void {
  const put = (key: string, bytes: Buffer) => blobStoreOf().put(key, Readable.from(chunksOf(bytes)), META)
  const read = async (key: string, range?: { start: number; end: number }) => {
    const body = await blobStoreOf().open(key, range)
    return body && (await buffer(body))
  }

  describe(name, () => {
    test('gives back the bytes and measures them', async () => {
      const key = newStorageKey(1)
      const bytes = randomBytes(300_000)
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      expect(await blobStoreOf().has(key)).toBe(false)
      expect(await put(key, bytes)).toEqual({ sizeBytes: 300_000, sha256 })
      expect(await blobStoreOf().has(key)).toBe(true)
      expect(bytes.equals((await read(key)) ?? Buffer.alloc(0))).toBe(true)
    })

    test('gives back a part', async () => {
      const key = newStorageKey(1)
      const bytes = randomBytes(1_000)
      await put(key, bytes)
      expect(await read(key, { start: 1, end: 1 })).toEqual(bytes.subarray(1, 2))
      expect(await read(key, { start: 10, end: 499 })).toEqual(bytes.subarray(10, 500))
      expect(await read(key, { start: 999, end: 999 })).toEqual(bytes.subarray(999))
    })

    test('keeps nothing at all as well', async () => {
      const key = newStorageKey(1)
      expect(await put(key, Buffer.alloc(0))).toMatchObject({ sizeBytes: 0 })
      expect(await read(key)).toEqual(Buffer.alloc(0))
    })

    test('the second put replaces the first', async () => {
      const key = newStorageKey(1)
      await put(key, Buffer.from('first and longer'))
      await put(key, Buffer.from('second'))
      expect(String(await read(key))).toBe('second')
    })

    test('finds nothing where nothing is, nor after removal', async () => {
      const key = newStorageKey(1)
      expect(await read(key)).toBeUndefined()
      await put(key, Buffer.from('here'))
      await blobStoreOf().remove(key)
      expect(await read(key)).toBeUndefined()
      await blobStoreOf().remove(key)
    })

    test('a body that breaks off leaves nothing, or what was there before', async () => {
      const key = newStorageKey(1)
      const torn = () =>
        Readable.from(
          (async function* () {
            yield Buffer.from('half')
            throw new Error('torn')
          })(),
        )
      await expect(blobStoreOf().put(key, torn(), META)).rejects.toThrow('torn')
      expect(await read(key)).toBeUndefined()
      await put(key, Buffer.from('whole'))
      await expect(blobStoreOf().put(key, torn(), META)).rejects.toThrow('torn')
      expect(String(await read(key))).toBe('whole')
    })

    test('refuses what is too large and keeps what is just not', async () => {
      const key = newStorageKey(1)
      await expect(put(key, Buffer.alloc(MAX_BYTES + 1))).rejects.toMatchObject({ name: 'TooLarge' })
      expect(await read(key)).toBeUndefined()
      expect(await put(key, Buffer.alloc(MAX_BYTES))).toMatchObject({ sizeBytes: MAX_BYTES })
    })

    test('refuses keys that are none of ours', async () => {
      for (const key of ['../../etc/passwd', '1-abc', '', `1-${'a'.repeat(64)}/x`]) {
        await expect((async () => blobStoreOf().put(key, Readable.from([]), META))()).rejects.toThrow(
          'Not a storage key',
        )
        await expect((async () => blobStoreOf().open(key))()).rejects.toThrow('Not a storage key')
        await expect((async () => blobStoreOf().has(key))()).rejects.toThrow('Not a storage key')
        await expect((async () => blobStoreOf().remove(key))()).rejects.toThrow('Not a storage key')
      }
    })
  })
}

function* chunksOf(bytes: Buffer, size = 65_536): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}
