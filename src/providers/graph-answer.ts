import { type AppError, providerThrottled, serviceUnavailable } from '../platform/errors.ts'
import type { Exchange } from '../platform/outgoing/exchange.ts'
import { isRecord } from '../platform/text/json-text.ts'
import type { Fetched, ProviderError, ReceiptOutcome, RefusalReason, SendFailure, SendOutcome } from './provider.ts'

export type Reading = {
  readOwnError?: (body: Record<string, unknown>) => ProviderError | undefined
  readMessageId?: (id: string) => { wamid: string | null; providerMessageId: string | null }
}

type Answered = Extract<Exchange, { kind: 'answered' }>
type Accepted = Extract<SendOutcome, { kind: 'accepted' }>

/** Returns the send outcome. A provider code takes precedence over the HTTP status. */
export const readSendAnswer = (answer: Exchange, reading: Reading): SendOutcome =>
  readOutcome(answer, reading, (body) => readAcceptance(body, reading))

/** Returns the outcome for a read receipt. */
export const readReceiptAnswer = (answer: Exchange, reading: Reading): ReceiptOutcome =>
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
export function readAnswer(answer: Exchange, reading: Reading): Fetched<Record<string, unknown>> {
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
  Array.isArray(list) ? list.filter(isRecord) : []

/** Returns an id sent as text or number. */
export const idOf = (value: unknown): string | null =>
  typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : text(value)

const first = (list: unknown): Record<string, unknown> | undefined => objectsIn(list)[0]

/** Reads a change response: success unless an error. */
export function readDone(answer: Exchange, reading: Reading): Fetched<null> {
  if (answer.kind === 'answered' && answer.status < 300 && readJsonObject(answer.body) === undefined) {
    return { kind: 'fetched', value: null }
  }
  const read = readAnswer(answer, reading)
  return read.kind === 'failed' ? read : { kind: 'fetched', value: null }
}

/** Reasons by provider code; the HTTP status is unreliable. Four-digit codes are the providers' own. */
const REASONS: ReadonlyMap<number, RefusalReason> = new Map([
  [100, 'invalid_parameter'],
  [131026, 'not_on_whatsapp'],
  [1002, 'not_on_whatsapp'],
  [131047, 'window_closed'],
  [132000, 'parameter_mismatch'],
  [132008, 'parameter_mismatch'],
  [132012, 'parameter_mismatch'],
  [132018, 'parameter_mismatch'],
  [132001, 'template_not_found'],
  [132015, 'template_not_approved'],
  [132016, 'template_not_approved'],
  [131051, 'unsupported'],
  [131021, 'recipient'],
  [131030, 'recipient'],
  [130501, 'request'],
  [131008, 'request'],
  [131009, 'request'],
  [131053, 'request'],
  [131062, 'request'],
  [132005, 'request'],
  [132007, 'request'],
  [1010, 'request'],
  [1011, 'request'],
  [131055, 'marketing_address'],
  [134100, 'marketing_address'],
  [134101, 'marketing_address'],
  [134102, 'marketing_address'],
  [139200, 'category'],
  [2, 'unavailable'],
  [131016, 'unavailable'],
  [131057, 'unavailable'],
  [133004, 'unavailable'],
  [2494100, 'unavailable'],
])

const OPT_OUTS: ReadonlySet<number> = new Set([131050, 1012])

type Code = Pick<ProviderError, 'code'> | null

/** Returns whether the customer stopped the business's marketing messages. */
export const isOptOut = (error: Code): boolean => typeof error?.code === 'number' && OPT_OUTS.has(error.code)

/** Returns whether the recipient is not on WhatsApp. */
export const isNotOnWhatsapp = (error: Code): boolean =>
  typeof error?.code === 'number' && REASONS.get(error.code) === 'not_on_whatsapp'

/** Default wait in seconds per throttling code. */
const THROTTLES: ReadonlyMap<number, number> = new Map([
  [4, 60],
  [17, 60],
  [613, 60],
  [80007, 60],
  [130429, 1],
  [131048, 3600],
  [131056, 6],
  [4001, 60],
  [131064, 3600],
  [132069, 60],
])

/** Wait for a throttle without a known code or Retry-After. */
export const THROTTLE_SECONDS = 60

type RefusedAnswer = { status: number; retryAfterSeconds: number | null }

const DENIALS: ReadonlySet<number> = new Set([0, 190])

/** Returns whether the provider refuses the credential itself. */
const isDenial = (error: ProviderError): boolean => error.code !== null && DENIALS.has(error.code)

/** Returns whether a retry would fail again. */
function isFinal(error: ProviderError): boolean {
  const outcome = refusalOf(error)
  return outcome.kind === 'refused' && outcome.reason !== 'unavailable'
}

/** Maps a refusal by provider code. The HTTP status matters only for 429 with an unknown code. */
export function refusalOf(
  error: ProviderError,
  answer: RefusedAnswer = { status: 400, retryAfterSeconds: null },
): SendFailure {
  const reason = reasonOf(error)
  const isUnknown = reason === 'other' && !isDenial(error)
  const wait = THROTTLES.get(error.code ?? Number.NaN) ?? (isUnknown && answer.status === 429 ? THROTTLE_SECONDS : null)
  if (wait !== null) return { kind: 'throttled', retryAfterSeconds: answer.retryAfterSeconds ?? wait, error }
  return { kind: 'refused', reason, error }
}

const VALUE_INVALID = 131009
const ABOUT_THE_NUMBER = /phone number|recipient|\bparameter ['"]?to\b/i

function reasonOf({ code, title, details }: ProviderError): RefusalReason {
  if (code === VALUE_INVALID && ABOUT_THE_NUMBER.test(`${title} ${details}`)) return 'invalid_number'
  // Code 200 covers any missing permission.
  if (code === 200 && /accept the Marketing Messages/i.test(title)) return 'marketing_address'
  return (code === null ? undefined : REASONS.get(code)) ?? 'other'
}

/** Reads `{error: {code, message, error_data: {details}}}`; the code may be text. */
export function readGraphError(body: Record<string, unknown>): ProviderError | undefined {
  if (!isRecord(body.error)) return undefined
  const { code, message, error_data: data, error_user_msg: userMessage } = body.error
  return {
    code: Number.isSafeInteger(Number(code)) && code !== null && code !== '' ? Number(code) : null,
    title: text(message) ?? 'The provider refused without a reason',
    details: (isRecord(data) ? text(data.details) : null) ?? text(userMessage),
  }
}

/** Formats an error as code, title and details. */
export const providerMessage = ({ code, title, details }: ProviderError): string =>
  [code, title, details].filter((part) => part !== null).join(': ')

/** Builds an error without a provider code. */
export const failure = (title: string): ProviderError => ({ code: null, title, details: null })

/** Returns a non-empty string, or null. */
export const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** Parses a JSON object; undefined for HTML, truncated or other bodies. */
export function readJsonObject(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Returns the error for a failed provider request: 429 if the provider throttles, else 503. */
export const unanswered = (
  { retryAfterSeconds, error }: Extract<Fetched<unknown>, { kind: 'failed' }>,
  what: string,
): AppError =>
  retryAfterSeconds === null
    ? serviceUnavailable(`${what}: ${providerMessage(error)}`)
    : providerThrottled(retryAfterSeconds)
