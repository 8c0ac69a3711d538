import { open } from 'node:fs/promises'
import { diskCall } from '../../platform/files/disk-call.ts'
import type { FileFacts } from './file-type.ts'

/** So much of a file shows whether it is text, and whether a picture moves. */
const HEAD_BYTES = 64 * 1024
/** The flags of a WebP file with an extended header, and the one of an animation. */
const WEBP_FLAGS_AT = 20
const WEBP_ANIMATION = 0x02
const HTML = /^\s*<(!doctype\s+html|html)\b/i

/** Reads what the bytes of a file on this machine show. */
export async function readFileFacts(path: string, sizeBytes: number): Promise<FileFacts> {
  const head = await diskCall(() => readHead(path, Math.min(sizeBytes, HEAD_BYTES)))
  const detected = await diskCall(() => detectType(path))
  const text = textOf(head, sizeBytes)
  const isPage = text !== undefined && HTML.test(text)
  return { detected, isText: text !== undefined, isPage, isAnimated: isAnimated(head), sizeBytes }
}

async function readHead(path: string, length: number): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

async function detectType(path: string): Promise<string | undefined> {
  // Loaded when it is needed: an idle service does without it.
  const { fileTypeFromFile } = await import('file-type')
  // A file that breaks off where its type promises more.
  return fileTypeFromFile(path).then(
    (found) => found?.mime,
    () => undefined,
  )
}

/** Text in UTF-8; undefined: it is none. */
function textOf(head: Buffer, sizeBytes: number): string | undefined {
  if (head.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: head.length < sizeBytes })
  } catch {
    return undefined
  }
}

const isAnimated = (head: Buffer): boolean =>
  head.length > WEBP_FLAGS_AT &&
  head.toString('latin1', 12, 16) === 'VP8X' &&
  ((head[WEBP_FLAGS_AT] ?? 0) & WEBP_ANIMATION) !== 0
