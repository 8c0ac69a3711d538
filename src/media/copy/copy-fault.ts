import type { Measured } from '../blobs/blob-store.ts'
import { safeMimeType } from '../content-headers.ts'
import { FILE_TYPES, type FileFacts } from '../uploads/file-type.ts'

export type Announced = { mimeType: string | null; sizeBytes: number | null; sha256: string | null }

/** Returns why the bytes don't match. A digest alone decides; without one, size and kind must match. */
export function copyFault(announced: Announced, file: Measured & FileFacts): string | undefined {
  if (announced.sha256 !== null) {
    return announced.sha256 === file.sha256 ? undefined : 'the bytes do not fit the digest'
  }
  if (announced.sizeBytes !== null && announced.sizeBytes !== file.sizeBytes) {
    return `${file.sizeBytes} bytes came instead of ${announced.sizeBytes}`
  }
  if (file.sizeBytes === 0) return 'no bytes came'
  if (isOfKind(safeMimeType(announced.mimeType), file)) return undefined
  return `the bytes are ${file.detected ?? (file.isText ? 'text' : 'of an unknown type')}, not ${announced.mimeType}`
}

const CONTAINERS: ReadonlySet<string> = new Set(['application/ogg', 'application/x-matroska'])

function isOfKind(mimeType: string, { detected, isText, isPage }: FileFacts): boolean {
  const [family] = mimeType.split('/')
  switch (family) {
    case 'image':
      return detected?.startsWith('image/') ?? false
    case 'audio':
    case 'video':
      return detected === undefined ? !isText : /^(audio|video)\//.test(detected) || CONTAINERS.has(detected)
    default:
      if (FILE_TYPES.has(mimeType) && mimeType !== 'text/plain') return detected !== undefined || !isText
      return !isPage || mimeType === 'text/html'
  }
}
