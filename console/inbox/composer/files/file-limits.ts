import type { UploadedMedia } from '../../../../client/src/generated/schemas.ts'

export type FileKind = UploadedMedia['kind']

const KIB = 1_024
const MIB = 1_024 * KIB

/**
 * The largest file of each kind, and the types, that the provider takes: test/console/inbox/files.test.ts compares them with those of
 * the service, which checks the bytes.
 */
export const MAX_BYTES: Record<FileKind, number> = {
  image: 5 * MIB,
  video: 16 * MIB,
  audio: 16 * MIB,
  document: 100 * MIB,
  sticker: 500 * KIB,
}
/** The largest sticker that does not move. */
export const MAX_STILL_STICKER = 100 * KIB

export const FILE_TYPES: Readonly<Record<string, FileKind>> = {
  'image/jpeg': 'image',
  'image/png': 'image',
  'image/webp': 'sticker',
  'video/mp4': 'video',
  'video/3gpp': 'video',
  'audio/aac': 'audio',
  'audio/amr': 'audio',
  'audio/mp4': 'audio',
  'audio/mpeg': 'audio',
  'audio/ogg; codecs=opus': 'audio',
  'application/pdf': 'document',
  'application/msword': 'document',
  'application/vnd.ms-excel': 'document',
  'application/vnd.ms-powerpoint': 'document',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'document',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'document',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'document',
  'text/plain': 'document',
}
/** Files that are sent at once. */
export const MAX_FILES = 10
export const MAX_CAPTION_CHARACTERS = 1_024

/** Other names that browsers give to these types. */
const ALIASES: Readonly<Record<string, string>> = {
  'audio/ogg': 'audio/ogg; codecs=opus',
  'audio/x-m4a': 'audio/mp4',
  'audio/m4a': 'audio/mp4',
  'audio/mp3': 'audio/mpeg',
  'audio/x-aac': 'audio/aac',
}

/** What the browser knows of a file. */
type FileFacts = Pick<File, 'type' | 'size'>
export type FileFault = 'empty' | 'type' | 'size'

/**
 * The kind that a file will probably have: its bytes decide in the end. What has no type that a browser knows may be a document;
 * undefined for pictures, videos and sounds that the provider does not take.
 */
export function kindOf({ type }: Pick<File, 'type'>): FileKind | undefined {
  const known = FILE_TYPES[ALIASES[type] ?? type]
  return known ?? (/^(image|video|audio)\//.test(type) ? undefined : 'document')
}

/** Why a file cannot be sent, as far as the browser knows. */
export function faultOf(file: FileFacts): FileFault | undefined {
  const kind = kindOf(file)
  if (kind === undefined) return 'type'
  if (file.size === 0) return 'empty'
  return file.size > MAX_BYTES[kind] ? 'size' : undefined
}
