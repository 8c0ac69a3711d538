import { open } from 'node:fs/promises'
import { diskCall } from '../../platform/files/storage-failure.ts'

export type FileKind = 'image' | 'video' | 'audio' | 'document' | 'sticker'

const KIB = 1024
const MIB = 1024 * KIB

export const MAX_FILE_BYTES: Record<FileKind, number> = {
  image: 5 * MIB,
  video: 16 * MIB,
  audio: 16 * MIB,
  document: 100 * MIB,
  sticker: 500 * KIB,
}
export const MAX_STILL_STICKER_BYTES = 100 * KIB

export const VOICE_TYPE = 'audio/ogg; codecs=opus'

export const FILE_TYPES: ReadonlyMap<string, FileKind> = new Map([
  ['image/jpeg', 'image'],
  ['image/png', 'image'],
  ['image/webp', 'sticker'],
  ['video/mp4', 'video'],
  ['video/3gpp', 'video'],
  ['audio/aac', 'audio'],
  ['audio/amr', 'audio'],
  ['audio/mp4', 'audio'],
  ['audio/mpeg', 'audio'],
  [VOICE_TYPE, 'audio'],
  ['application/pdf', 'document'],
  ['application/msword', 'document'],
  ['application/vnd.ms-excel', 'document'],
  ['application/vnd.ms-powerpoint', 'document'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'document'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'document'],
  ['application/vnd.openxmlformats-officedocument.presentationml.presentation', 'document'],
  ['text/plain', 'document'],
])

export const kindOf = (mimeType: string): FileKind => FILE_TYPES.get(mimeType) ?? 'document'

const ALIASES: ReadonlyMap<string, string> = new Map([
  ['audio/x-m4a', 'audio/mp4'],
  ['audio/apple', 'audio/mp4'],
])

/** Old Office files share one format; only the extension tells them apart. */
const COMPOUND_FILE = 'application/x-cfb'
const COMPOUND_TYPES: ReadonlyMap<string, string> = new Map([
  ['doc', 'application/msword'],
  ['xls', 'application/vnd.ms-excel'],
  ['ppt', 'application/vnd.ms-powerpoint'],
])

export type FileFacts = {
  detected: string | undefined
  isText: boolean
  isPage: boolean
  isAnimated: boolean
  sizeBytes: number
}

type FileDecision = { mimeType: string; kind: FileKind } | { fault: string }

/** Decides whether a file can be sent, by its bytes and, where those are ambiguous, the filename extension. */
export function decideFile(facts: FileFacts, filename: string | null): FileDecision {
  const { detected, sizeBytes } = facts
  if (sizeBytes === 0) return { fault: 'is empty' }
  const mimeType = typeOf(facts, filename)
  if (mimeType === undefined && detected === COMPOUND_FILE) {
    return { fault: 'is a file of an older version of Office: give a filename that ends with .doc, .xls or .ppt' }
  }
  const kind = mimeType === undefined ? undefined : FILE_TYPES.get(mimeType)
  if (mimeType === undefined || kind === undefined) {
    return { fault: `is ${mimeType ?? 'of an unknown type'}, which WhatsApp does not take; it takes ${TAKEN}` }
  }
  const isStill = kind === 'sticker' && !facts.isAnimated
  const limit = isStill ? MAX_STILL_STICKER_BYTES : MAX_FILE_BYTES[kind]
  if (sizeBytes <= limit) return { mimeType, kind }
  const name = isStill ? 'a sticker that does not move' : kind === 'sticker' ? 'an animated sticker' : `${kind}`
  return { fault: `has ${sizeBytes} bytes; the limit for ${name} (${mimeType}) is ${limit}` }
}

function typeOf({ detected, isText }: FileFacts, filename: string | null): string | undefined {
  if (detected === undefined) return isText ? 'text/plain' : undefined
  if (detected === COMPOUND_FILE)
    return COMPOUND_TYPES.get(/\.([a-z]+)$/i.exec(filename ?? '')?.[1]?.toLowerCase() ?? '')
  return ALIASES.get(detected) ?? detected
}

const TAKEN =
  'JPEG and PNG (image), WebP (sticker), MP4 and 3GP (video), AAC, AMR, MP3, MP4 and Ogg with Opus (audio), PDF, Word, Excel, PowerPoint and plain text in UTF-8 (document)'

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
