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
