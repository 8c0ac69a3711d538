import type { FileFault, FileKind } from '../inbox/composer/files/file-limits.ts'
import { count, number } from './format.ts'

const KIB = 1_024
const MIB = KIB * KIB

/** `12 bytes`, `340 kB`, `1.2 MB`. */
export function size(bytes: number): string {
  if (bytes < KIB) return count(bytes, 'byte', 'bytes')
  return bytes < MIB ? `${number(Math.round(bytes / KIB))} kB` : `${number(Math.round((bytes / MIB) * 10) / 10)} MB`
}

const KINDS: Record<FileKind, string> = {
  image: 'Image',
  video: 'Video',
  audio: 'Audio',
  document: 'Document',
  sticker: 'Sticker',
}
const A_FILE: Record<FileKind, string> = {
  image: 'an image',
  video: 'a video',
  audio: 'an audio file',
  document: 'a document',
  sticker: 'a sticker',
}

/** The texts of attached files, in English. */
export const fileText = {
  attach: 'Attach files',
  list: 'Files to send',
  caption: 'Add a caption',
  remove: (name: string) => `Remove ${name}`,
  about: (kind: FileKind, bytes: number, maxBytes: number) =>
    `${KINDS[kind]}, ${size(bytes)}; at most ${size(maxBytes)}`,
  aboutSticker: (bytes: number, stillBytes: number, maxBytes: number) =>
    `Sticker, ${size(bytes)}; at most ${size(stillBytes)}, ${size(maxBytes)} when it moves`,
  faults: {
    empty: () => 'This file is empty',
    type: () =>
      'WhatsApp does not take files of this type. It takes JPEG and PNG images, WebP stickers, MP4 and 3GP videos, AAC, AMR, MP3, M4A and Ogg audio, PDF, Word, Excel, PowerPoint and text.',
    size: (kind: FileKind, maxBytes: number) => `Too large: ${A_FILE[kind]} may have ${size(maxBytes)} at most`,
  } satisfies Record<FileFault, (kind: FileKind, maxBytes: number) => string>,
  atMost: (files: number) => `At most ${number(files)} files at once`,
  drop: 'Drop files to send them',
  dropHint: 'Images up to 5 MB, videos and audio up to 16 MB, documents up to 100 MB',
  captionTooLong: (over: number) => `${number(over)} over the limit of 1,024 characters for a caption`,
  uploading: (name: string) => `Upload of ${name}`,
  cancel: 'Cancel the upload',
  uploadFailed: 'The upload failed',
  wait: 'Wait until the file is uploaded.',
  upload: (kind: string) => `Upload: ${kind.toLowerCase()}`,
  headerHint: (kind: FileKind, maxBytes: number) => `Or upload ${A_FILE[kind]} of at most ${size(maxBytes)}.`,
  otherKind: (kind: FileKind) => `The header of this template takes ${A_FILE[kind]}.`,
  lost: 'The file is not in this browser any more. Attach it again.',
}
