import { createHash } from 'node:crypto'

/** One small, valid file per kind that a customer's phone sends. */
const FILES: Record<string, string> = {
  'image/png': 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mNQvZwGAAJ/AV9pIfneAAAAAElFTkSuQmCC',
  'image/jpeg':
    '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQH/wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAAP/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AP//Z',
  'image/webp': 'UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAwA0JaQAA3AA/vuUAAA=',
  'audio/ogg':
    'T2dnUwACAAAAAAAAAABMUkFQAAAAABZ3AkoBE09wdXNIZWFkAQEAAIC7AAAAAABPZ2dTAAAAAAAAAAAAAExSQVABAAAAsOxgZwEXT3B1c1RhZ3MHAAAAc2FuZGJveAAAAABPZ2dTAATAAwAAAAAAAExSQVACAAAAtA5ULgED+P/+',
  'video/mp4':
    'AAAAHGZ0eXBpc29tAAACAGlzb21pc28ybXA0MQAAAHRtb292AAAAbG12aGQAAAAAAAAAAAAAAAAAAAPoAAAAAAABAAABAAAAAAAAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB',
  'application/pdf':
    'JVBERi0xLjQKMSAwIG9iajw8L1R5cGUvQ2F0YWxvZy9QYWdlcyAyIDAgUj4+ZW5kb2JqCjIgMCBvYmo8PC9UeXBlL1BhZ2VzL0tpZHNbMyAwIFJdL0NvdW50IDE+PmVuZG9iagozIDAgb2JqPDwvVHlwZS9QYWdlL1BhcmVudCAyIDAgUi9NZWRpYUJveFswIDAgNzIgNzJdPj5lbmRvYmoKeHJlZgowIDQKMDAwMDAwMDAwMCA2NTUzNSBmIAowMDAwMDAwMDA5IDAwMDAwIG4gCjAwMDAwMDAwNTIgMDAwMDAgbiAKMDAwMDAwMDEwMSAwMDAwMCBuIAp0cmFpbGVyPDwvU2l6ZSA0L1Jvb3QgMSAwIFI+PgpzdGFydHhyZWYKMTYyCiUlRU9GCg==',
}

/** The MIME type that a phone gives to each kind of message that carries a file. */
export const PHONE_MIME_TYPE: Record<string, string> = {
  image: 'image/jpeg',
  video: 'video/mp4',
  audio: 'audio/ogg; codecs=opus',
  voice: 'audio/ogg; codecs=opus',
  document: 'application/pdf',
  sticker: 'image/webp',
}

export const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

const samples = new Map(
  Object.entries(FILES).map(([type, base64]) => {
    const bytes = Buffer.from(base64, 'base64')
    return [type, { bytes, sha256: sha256Of(bytes) }]
  }),
)

const plain = Buffer.from('A file from the sandbox.\n')
const plainSample = { bytes: plain, sha256: sha256Of(plain) }

/** A valid little file of that MIME type; a line of text for kinds that we have none of. */
export function sampleOf(mimeType: string): { bytes: Buffer; sha256: string } {
  const essence = (mimeType.split(';')[0] ?? '').trim().toLowerCase()
  return samples.get(essence) ?? plainSample
}
