import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'

/** First and last byte, both counted from 0 and both included. */
export type ByteRange = { start: number; end: number }

export type Measured = { sizeBytes: number; sha256: string }

export type BlobMeta = {
  mimeType: string
  maxBytes: number
  /** Reads the whole file on this machine before it is kept; it throws to keep nothing. */
  check?: ((path: string, measured: Measured) => Promise<unknown>) | undefined
}

/** The port to where the bytes of media are kept. */
export type BlobStore = {
  /**
   * Keeps all bytes of the stream under the key, durably and whole or not at all: until it resolves, nothing or the
   * earlier bytes are there. Throws what the stream and `check` throw, TooLarge beyond `maxBytes`, and what the place throws.
   */
  put(key: string, body: Readable, meta: BlobMeta): Promise<Measured>
  /** The bytes, or those of the range, which lies within them; undefined when there is nothing under the key. */
  open(key: string, range?: ByteRange): Promise<Readable | undefined>
  /** Whether there is something under the key. */
  has(key: string): Promise<boolean>
  /** Takes the bytes away; none there is no fault. */
  remove(key: string): Promise<void>
}

/** Cannot be guessed, and names the company, so that the blob store shows whose the bytes are. */
export const newStorageKey = (companyId: number): string => `${companyId}-${randomBytes(32).toString('hex')}`

/** Whether a text is a key of this service: only keys become names of files and objects. */
export const isStorageKey = (text: string): boolean => /^[1-9][0-9]{0,15}-[0-9a-f]{64}$/.test(text)
