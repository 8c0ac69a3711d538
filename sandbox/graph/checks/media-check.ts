import type { Refusal } from '../graph-error.ts'

const [KIB, MIB] = [1024, 1024 * 1024]
const DOCUMENTS = [
  'application/pdf',
  'application/msword',
  'application/vnd.ms-excel',
  'application/vnd.ms-powerpoint',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  'text/plain',
]

/** The largest file of each type that the provider takes, in bytes. */
const LIMITS = new Map<string, number>([
  ...['image/jpeg', 'image/png'].map((type) => [type, 5 * MIB] as const),
  ['image/webp', 500 * KIB],
  ...['video/mp4', 'video/3gpp'].map((type) => [type, 16 * MIB] as const),
  ...['audio/aac', 'audio/amr', 'audio/mp4', 'audio/mpeg', 'audio/ogg'].map((type) => [type, 16 * MIB] as const),
  ...DOCUMENTS.map((type) => [type, 100 * MIB] as const),
])

/** Why the provider would not take an uploaded file, by its declared type and its size. */
export function uploadRefusal(mimeType: string, sizeBytes: number): Refusal | undefined {
  const type = (mimeType.split(';')[0] ?? '').trim().toLowerCase()
  const limit = LIMITS.get(type)
  if (limit === undefined) {
    const types = [...LIMITS.keys()].join(', ')
    return {
      code: 100,
      details: `Param file must be a file with one of the following types: ${types}. Received file of type '${type}'.`,
    }
  }
  return sizeBytes > limit ? { code: 131053, details: `The file of type ${type} is over ${limit} bytes` } : undefined
}
