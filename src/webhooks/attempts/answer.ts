/** The answer of a receiver, as far as it has arrived. */
export type ReceiverAnswer = {
  statusCode: number | null
  retryAfter: string | null
  chunks: Uint8Array[]
  size: number
}

/** Bytes of an answer that are read and kept. */
export const MAX_ANSWER_BYTES = 65_536

const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** An answer of which nothing has arrived: no status, no body. */
export const emptyAnswer = (): ReceiverAnswer => ({ statusCode: null, retryAfter: null, chunks: [], size: 0 })

/** Keeps what there is room for; false when the answer is as long as it may get. */
export function appendChunk(answer: ReceiverAnswer, chunk: Uint8Array): boolean {
  const head = chunk.subarray(0, MAX_ANSWER_BYTES - answer.size)
  answer.chunks.push(head)
  answer.size += head.length
  return answer.size < MAX_ANSWER_BYTES
}

/**
 * The body as text that PostgreSQL takes, at most 64 KiB long in UTF-8: NUL and what is no UTF-8 become U+FFFD, a
 * character that the limit has cut in two is left out.
 */
export function answerText(answer: ReceiverAnswer): string {
  if (answer.size === 0) return ''
  const isCut = answer.size >= MAX_ANSWER_BYTES
  const text = new TextDecoder('utf-8')
    .decode(Buffer.concat(answer.chunks), { stream: isCut })
    .replaceAll('\0', '\ufffd')
  // A UTF-16 unit is at most three bytes, so short texts are not measured; most answers are short.
  if (text.length * 3 <= MAX_ANSWER_BYTES) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_ANSWER_BYTES))
  return text.slice(0, read)
}

/** Why a whole answer is no delivery, or null for any 2xx. */
export function describeRefusal(statusCode: number): string | null {
  if (statusCode >= 200 && statusCode < 300) return null
  if (REDIRECTS.has(statusCode)) return `the receiver answered with a redirect (${statusCode}), which is not followed`
  return `the receiver answered ${statusCode}`
}
