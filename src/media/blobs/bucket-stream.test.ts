import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { eventually } from '../../../test/service.ts'
import { bucketStream } from './bucket-stream.ts'

const bytes = randomBytes(1_000_000)

function object({ goneAfter = Number.POSITIVE_INFINITY } = {}) {
  const opened: { start: number; source: Readable }[] = []
  return {
    opened,
    openAt: async (start: number) => {
      if (opened.length >= goneAfter) return undefined
      const source = Readable.from(
        (function* () {
          for (let at = start; at < bytes.length; at += 50_000) yield bytes.subarray(at, at + 50_000)
        })(),
        { objectMode: false, highWaterMark: 1 },
      )
      opened.push({ start, source })
      return source
    },
  }
}

const isClosed = ({ opened }: ReturnType<typeof object>) => opened.every(({ source }) => source.destroyed)

test('an object is open only while its reader wants bytes, and goes on where it was left', async () => {
  const one = object()
  const stream = await bucketStream(one.openAt, 0, 10)
  await eventually(async () => isClosed(one))
  expect(one.opened).toHaveLength(1)
  expect((await buffer(stream!)).equals(bytes)).toBe(true)
  expect(one.opened.length).toBeGreaterThan(1)
  expect(one.opened[1]!.start).toBeGreaterThan(0)
  await eventually(async () => isClosed(one))
})

test('a reader that stays away is not waited for, and an object that is gone meanwhile is a failure of the storage', async () => {
  const one = object({ goneAfter: 1 })
  const stream = await bucketStream(one.openAt, 0, 10)
  await eventually(async () => isClosed(one))
  await expect(buffer(stream!)).rejects.toMatchObject({ name: 'StorageFailure' })
  expect(await bucketStream(async () => undefined)).toBeUndefined()
  const left = object()
  const unread = await bucketStream(left.openAt, 0, 60_000)
  unread?.destroy()
  await eventually(async () => isClosed(left))
})
