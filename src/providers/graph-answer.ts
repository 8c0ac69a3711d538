import type { Exchange } from '../platform/outgoing/exchange.ts'
import { isObject } from './events/json-member.ts'
import { failure, readGraphError, text } from './graph-error.ts'
import { readJsonObject } from './json-answer.ts'
import type { Fetched, ProviderError, ReceiptOutcome, SendFailure, SendOutcome } from './provider.ts'
import { isDenial, isFinal, refusalOf, THROTTLE_SECONDS } from './refusal.ts'

export type Reading = {
  readOwnError?: (body: Record<string, unknown>) => ProviderError | undefined
  readMessageId?: (id: string) => { wamid: string | null; providerMessageId: string | null }
}

type Answered = Extract<Exchange, { kind: 'answered' }>
type Accepted = Extract<SendOutcome, { kind: 'accepted' }>

/** Returns the send outcome. A provider code takes precedence over the HTTP status. */
export const readSendAnswer = (answer: Exchange, reading: Reading = {}): SendOutcome =>
  readOutcome(answer, reading, (body) => readAcceptance(body, reading))

/** Returns the outcome for a read receipt. */
export const readReceiptAnswer = (answer: Exchange, reading: Reading = {}): ReceiptOutcome =>
  readOutcome(answer, reading, ({ success, status }) =>
    success === true || status === 'success' ? { kind: 'taken' as const } : undefined,
  )

function readOutcome<Success>(
  answer: Exchange,
  reading: Reading,
  readSuccess: (body: Record<string, unknown>) => Success | undefined,
): Success | SendFailure {
  if (answer.kind === 'not-sent') return { kind: 'unreachable', error: failure(answer.detail) }
  if (answer.kind === 'no-answer') return { kind: 'unknown', error: failure(answer.detail) }
  const body = readJsonObject(answer.body)
  const error = body && readError(body, reading)
  const success = answer.status < 300 && error === undefined ? body && readSuccess(body) : undefined
  return success ?? failureOf(answer, error ?? failure(`HTTP ${answer.status} without a readable answer`))
}

/** Without a code only a plain 4xx proves nothing was sent; a gateway page may hide an accepted message. */
function failureOf(answer: Answered, error: ProviderError): SendFailure {
  if (error.code !== null) return refusalOf(error, answer)
  const { status, retryAfterSeconds } = answer
  if (status === 429) return { kind: 'throttled', retryAfterSeconds: retryAfterSeconds ?? THROTTLE_SECONDS, error }
  const isRefused = status >= 400 && status < 500
  return isRefused ? { kind: 'refused', reason: 'other', error } : { kind: 'unknown', error }
}

function readAcceptance(body: Record<string, unknown>, { readMessageId }: Reading): Accepted | undefined {
  const message = first(body.messages)
  const contact = first(body.contacts)
  if (typeof message?.id !== 'string' || message.id === '') return undefined
  return {
    kind: 'accepted',
    ...(readMessageId?.(message.id) ?? { wamid: message.id, providerMessageId: null }),
    input: text(contact?.input),
    waId: text(contact?.wa_id),
    userId: text(contact?.user_id),
  }
}

/** Returns the response's JSON object, or why there is none. */
export function readAnswer(answer: Exchange, reading: Reading = {}): Fetched<Record<string, unknown>> {
  if (answer.kind !== 'answered') return failed(answer.detail)
  const body = readJsonObject(answer.body)
  const error = body && readError(body, reading)
  if (body && error === undefined && answer.status < 300) return { kind: 'fetched', value: body }
  const cause = error ?? failure(`HTTP ${answer.status}`)
  const outcome = failureOf(answer, cause)
  if (outcome.kind === 'throttled') {
    return {
      kind: 'failed',
      isRefused: false,
      isDenied: false,
      retryAfterSeconds: outcome.retryAfterSeconds,
      error: cause,
    }
  }
  const isDenied = cause.code === null ? answer.status === 401 : isDenial(cause)
  const isRefused = isDenied || (answer.status < 500 && (error === undefined || isFinal(error)))
  return { kind: 'failed', isRefused, isDenied, retryAfterSeconds: null, error: cause }
}

const readError = (body: Record<string, unknown>, { readOwnError }: Reading): ProviderError | undefined =>
  readGraphError(body) ?? readOwnError?.(body)

/** Builds a failure unrelated to the credential. */
export const failed = (title: string): Fetched<never> => ({
  kind: 'failed',
  isRefused: false,
  isDenied: false,
  retryAfterSeconds: null,
  error: failure(title),
})

/** Maps a response; undefined means required members are missing. */
export function readValue<T>(
  answer: Fetched<Record<string, unknown>>,
  read: (body: Record<string, unknown>) => T | undefined,
): Fetched<T> {
  if (answer.kind === 'failed') return answer
  const value = read(answer.value)
  return value === undefined ? failed('the answer lacks what it should hold') : { kind: 'fetched', value }
}

/** Returns the objects in a list, ignoring anything else. */
export const objectsIn = (list: unknown): Record<string, unknown>[] =>
  Array.isArray(list) ? list.filter(isObject) : []

/** Returns an id sent as text or number. */
export const idOf = (value: unknown): string | null =>
  typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : text(value)

const first = (list: unknown): Record<string, unknown> | undefined => objectsIn(list)[0]

/** Reads a change response: success unless an error. */
export function readDone(answer: Exchange, reading: Reading = {}): Fetched<null> {
  if (answer.kind === 'answered' && answer.status < 300 && readJsonObject(answer.body) === undefined) {
    return { kind: 'fetched', value: null }
  }
  const read = readAnswer(answer, reading)
  return read.kind === 'failed' ? read : { kind: 'fetched', value: null }
}
