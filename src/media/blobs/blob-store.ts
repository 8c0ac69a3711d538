import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'

/** First and last byte, zero-based and inclusive. */
export type ByteRange = { start: number; end: number }

export type Measured = { sizeBytes: number; sha256: string }

export type BlobMeta = {
  mimeType: string
  maxBytes: number
  /** Inspects the whole file on local disk; throws to reject the file. */
  check?: ((path: string, measured: Measured) => Promise<unknown>) | undefined
}

export type BlobStore = {
  /**
   * Stores the stream durably and atomically; earlier bytes stay until it resolves. Throws errors from the stream, `check` and
   * the store, and TooLarge beyond `maxBytes`.
   */
  put(key: string, body: Readable, meta: BlobMeta): Promise<Measured>
  /** Returns undefined for an unknown key. `range` must lie within the file. */
  open(key: string, range?: ByteRange): Promise<Readable | undefined>
  has(key: string): Promise<boolean>
  /** Removing an unknown key is not an error. */
  remove(key: string): Promise<void>
}

/** Must be unguessable. The company prefix shows whose bytes the store holds. */
export const newStorageKey = (companyId: number): string => `${companyId}-${randomBytes(32).toString('hex')}`

export const isStorageKey = (text: string): boolean => /^[1-9][0-9]{0,15}-[0-9a-f]{64}$/.test(text)
