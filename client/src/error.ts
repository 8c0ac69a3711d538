import type { CodedError } from './generated/schemas.ts'

/** The code and details of an error of the API: to compare `code` narrows `details`. */
type CodeAndDetails<Given> = Given extends { code: infer Code; details: infer Details }
  ? { code: Code; details: Details }
  : Given extends { code: infer Code; details?: infer Details }
    ? { code: Code; details: Details | undefined }
    : Given extends { code: infer Code }
      ? { code: Code; details: undefined }
      : never

/**
 * The client's own codes: no answer came, no answer came within the time limit, the answer is not one of Parley, a webhook
 * is not signed with the secret.
 */
export type ClientErrorCode = 'network_error' | 'timeout' | 'unexpected_answer' | 'invalid_signature'

export type KnownError = CodeAndDetails<CodedError> | { code: ClientErrorCode; details: undefined }

type Fields = {
  code: string
  status?: number | null
  details?: unknown
  requestId?: string | null
  retryAfterSeconds?: number | null
  cause?: unknown
}

/**
 * Everything that a call of the client throws, except the reason of an aborted signal. `instanceof ParleyError` gives
 * an error whose `code` narrows `details`.
 */
export class ParleyError extends Error {
  /** A code of the API, or one of the client. An answer of the API without a code has that of its status. */
  readonly code: string
  /** The HTTP status; null when there is no answer. */
  readonly status: number | null
  readonly details: unknown
  /** The id of the request, which the log of the service repeats. */
  readonly requestId: string | null
  /** The wait that the service asks for. */
  readonly retryAfterSeconds: number | null

  constructor(message: string, fields: Fields) {
    super(message, fields.cause === undefined ? {} : { cause: fields.cause })
    this.name = 'ParleyError'
    this.code = fields.code
    this.status = fields.status ?? null
    this.details = fields.details
    this.requestId = fields.requestId ?? null
    this.retryAfterSeconds = fields.retryAfterSeconds ?? null
  }

  /** By name, because a program that loads this package as ESM and as CommonJS has two classes. */
  static override [Symbol.hasInstance](value: unknown): value is ParleyError & KnownError {
    return value instanceof Error && value.name === 'ParleyError' && 'code' in value
  }
}

/** Codes for the answers that carry only a text: missing credentials, missing records, refusals of providers. */
const CODES: Record<number, string> = {
  400: 'bad_request',
  401: 'unauthorized',
  404: 'not_found',
  409: 'duplicate_resource',
  500: 'internal_error',
}

/** The error of an answer that is no success. Reads its body. */
export async function toError(response: Response): Promise<ParleyError> {
  const text = await response.text()
  const { error, message } = membersOf(parse(text))
  const coded = membersOf(error)
  const shared = {
    status: response.status,
    requestId: response.headers.get('x-request-id'),
    retryAfterSeconds: retryAfter(response.headers.get('retry-after')) ?? numberOf(coded.retry_after),
  }
  if (typeof coded.code === 'string') {
    return new ParleyError(String(coded.message), { ...shared, code: coded.code, details: coded.details })
  }
  const reason = typeof error === 'string' ? error : message
  const code = typeof reason === 'string' ? CODES[response.status] : undefined
  if (typeof reason === 'string' && code !== undefined) return new ParleyError(reason, { ...shared, code })
  return unexpectedAnswer(response, text, shared.retryAfterSeconds)
}

/** The error of an answer that no Parley gives, such as a page of a proxy. */
export function unexpectedAnswer(
  { status, headers }: Response,
  text: string,
  retryAfterSeconds: number | null = null,
): ParleyError {
  const requestId = headers.get('x-request-id')
  const details = { code: 'unexpected_answer', status, requestId, retryAfterSeconds }
  return new ParleyError(`The server answered ${status}: ${text.slice(0, 200)}`, details)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const membersOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null)

/** Seconds of a `Retry-After`, which is a number or a date. */
function retryAfter(header: string | null): number | null {
  if (header === null) return null
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000
  return Number.isNaN(seconds) ? null : Math.max(0, seconds)
}
