import { open } from 'node:fs/promises'
import { diskCall } from '../../platform/files/storage-failure.ts'
import type { FileFacts } from './file-type.ts'

const HEAD_BYTES = 64 * 1024
const WEBP_FLAGS_AT = 20
const WEBP_ANIMATION = 0x02
const HTML = /^\s*<(!doctype\s+html|html)\b/i

/** Reads a local file's facts from its bytes. */
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
  const { fileTypeFromFile } = await import('file-type')
  // A truncated file throws.
  return fileTypeFromFile(path).then(
    (found) => found?.mime,
    () => undefined,
  )
}

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
