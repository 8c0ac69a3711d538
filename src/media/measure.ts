import { createHash } from 'node:crypto'
import { type Readable, Transform, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Measured } from './blobs/blob-store.ts'

/** More bytes came than may be kept. */
export class TooLarge extends Error {
  constructor(maxBytes: number) {
    super(`There are more than ${maxBytes} bytes`)
    this.name = 'TooLarge'
  }
}

/** Writes a stream to its end and returns what went through. Throws TooLarge as soon as there are more than `maxBytes`. */
export async function writeMeasured(from: Readable, to: Writable, maxBytes: number): Promise<Measured> {
  const hash = createHash('sha256')
  let sizeBytes = 0
  const measure = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sizeBytes += chunk.length
      hash.update(chunk)
      if (sizeBytes > maxBytes) done(new TooLarge(maxBytes))
      else done(null, chunk)
    },
  })
  await pipeline(from, measure, to)
  return { sizeBytes, sha256: hash.digest('hex') }
}
