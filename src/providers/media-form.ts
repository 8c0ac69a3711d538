import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { MediaFile } from './provider.ts'

/** Longer than for other calls: files can have 100 MB. */
export const UPLOAD_TIMEOUT_MS = 60_000

/** Never shown to customers; the message has the document's name. */
const FILENAME = 'file'

/** Streams a file as multipart/form-data (RFC 7578). Names and values must be trusted: they could end a header. */
export function toMediaForm(
  fields: Record<string, string>,
  { body, sizeBytes, mimeType }: MediaFile,
): { headers: Record<string, string>; body: Readable } {
  const boundary = `parley-${randomUUID()}`
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const head = Buffer.from(
    `${parts.join('')}--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${FILENAME}"\r\ncontent-type: ${mimeType}\r\n\r\n`,
  )
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  const form = Readable.from(concatenated(head, body, tail))
  return {
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(head.length + sizeBytes + tail.length),
    },
    body: form,
  }
}

async function* concatenated(head: Buffer, body: Readable, tail: Buffer): AsyncGenerator<Buffer> {
  yield head
  yield* body
  yield tail
}
