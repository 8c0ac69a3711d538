export type ReceiverAnswer = {
  statusCode: number | null
  retryAfter: string | null
  chunks: Uint8Array[]
  size: number
}

export const MAX_ANSWER_BYTES = 65_536

const REDIRECTS = new Set([301, 302, 303, 307, 308])

export const emptyAnswer = (): ReceiverAnswer => ({ statusCode: null, retryAfter: null, chunks: [], size: 0 })

/** Returns false once the answer is full. */
export function appendChunk(answer: ReceiverAnswer, chunk: Uint8Array): boolean {
  const head = chunk.subarray(0, MAX_ANSWER_BYTES - answer.size)
  answer.chunks.push(head)
  answer.size += head.length
  return answer.size < MAX_ANSWER_BYTES
}

/** Returns the body for PostgreSQL, up to 64 KiB of UTF-8. NUL and invalid bytes become U+FFFD; a cut character is dropped. */
export function answerText(answer: ReceiverAnswer): string {
  if (answer.size === 0) return ''
  const isCut = answer.size >= MAX_ANSWER_BYTES
  const text = new TextDecoder('utf-8')
    .decode(Buffer.concat(answer.chunks), { stream: isCut })
    .replaceAll('\0', '\ufffd')
  // A UTF-16 unit takes at most three bytes: most answers need no measuring.
  if (text.length * 3 <= MAX_ANSWER_BYTES) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_ANSWER_BYTES))
  return text.slice(0, read)
}

/** Returns the error message of a complete answer; null for any 2xx. */
export function describeRefusal(statusCode: number): string | null {
  if (statusCode >= 200 && statusCode < 300) return null
  if (REDIRECTS.has(statusCode)) return `the receiver answered with a redirect (${statusCode}), which is not followed`
  return `the receiver answered ${statusCode}`
}
