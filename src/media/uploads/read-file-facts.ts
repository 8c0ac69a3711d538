import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { StorageFailure } from '../../files/storage-failure.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { FileFacts } from './file-type.ts'

/** So much of a file shows whether it is text, and whether a picture moves. */
const HEAD_BYTES = 64 * 1024
/** The flags of a WebP file with an extended header, and the one of an animation. */
const WEBP_FLAGS_AT = 20
const WEBP_ANIMATION = 0x02

/** Reads what the bytes of a stored file show. */
export async function readFileFacts(store: BlobStore, storageKey: string, sizeBytes: number): Promise<FileFacts> {
  const head = await readHead(store, storageKey, sizeBytes)
  const detected = await detectType(store, storageKey)
  return { detected, isText: isText(head, sizeBytes), isAnimated: isAnimated(head), sizeBytes }
}

async function readHead(store: BlobStore, storageKey: string, sizeBytes: number): Promise<Buffer> {
  if (sizeBytes === 0) return Buffer.alloc(0)
  const body = await store.open(storageKey, { start: 0, end: Math.min(sizeBytes, HEAD_BYTES) - 1 })
  return body === undefined ? fileMissing() : buffer(body)
}

async function detectType(store: BlobStore, storageKey: string): Promise<string | undefined> {
  const body = await store.open(storageKey)
  if (body === undefined) return fileMissing()
  // Loaded when it is needed: an idle service does without it.
  const { fileTypeFromStream } = await import('file-type')
  try {
    return (await fileTypeFromStream(Readable.toWeb(body)))?.mime
  } catch {
    // Mostly a file that breaks off where its type promises more.
    if (body.errored) throw body.errored
    return undefined
  } finally {
    body.destroy()
  }
}

/** The file was stored by this request. */
function fileMissing(): never {
  throw new StorageFailure(new Error('a stored file is missing'))
}

function isText(head: Buffer, sizeBytes: number): boolean {
  if (head.includes(0)) return false
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: head.length < sizeBytes })
    return true
  } catch {
    return false
  }
}

const isAnimated = (head: Buffer): boolean =>
  head.length > WEBP_FLAGS_AT &&
  head.toString('latin1', 12, 16) === 'VP8X' &&
  ((head[WEBP_FLAGS_AT] ?? 0) & WEBP_ANIMATION) !== 0
