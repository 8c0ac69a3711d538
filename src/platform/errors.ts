/**
 * Callers throw these and never build a body: the condition determines which of three shapes is used (spec: Errors).
 */
export type FieldFault = { path: string; message: string }
type ErrorDetails = Record<string, unknown>

/** Every error code with its status (decisions: Statuses). */
export const ERROR_STATUSES = {
  bad_request: 400,
  invalid_group_by: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  template_not_found: 404,
  WHATSAPP_SENDER_NOT_FOUND: 404,
  no_whatsapp_account: 404,
  request_timeout: 408,
  duplicate_resource: 409,
  idempotency_key_in_use: 409,
  session_exists: 409,
  already_sent: 409,
  gone: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  expectation_failed: 417,
  validation_error: 422,
  invalid_phone_number: 422,
  template_not_approved: 422,
  parameter_mismatch: 422,
  recipient_not_on_whatsapp: 422,
  session_window_closed: 422,
  idempotency_key_reused: 422,
  rate_limit_exceeded: 429,
  internal_error: 500,
  service_unavailable: 503,
  send_outcome_unknown: 503,
} as const
export type ErrorCode = keyof typeof ERROR_STATUSES

export type ErrorBody =
  | { error: string }
  | { message: string }
  | { error: { code: ErrorCode; message: string; details?: ErrorDetails; retry_after?: number } }

export class AppError extends Error {
  readonly status: number
  readonly body: ErrorBody
  readonly headers: Record<string, string>
  /**
   * Whether an Idempotency-Key stores this answer: only for errors after work has started (decisions: Idempotency-Key).
   */
  readonly final: boolean
  /** Whether a retry may succeed before `retry-after`. */
  readonly mayPassEarlier: boolean

  constructor(
    status: number,
    body: ErrorBody,
    {
      headers = {},
      final = false,
      mayPassEarlier = false,
    }: { headers?: Record<string, string>; final?: boolean; mayPassEarlier?: boolean } = {},
  ) {
    super(describe(body))
    this.name = 'AppError'
    this.status = status
    this.body = body
    this.headers = headers
    this.final = final
    this.mayPassEarlier = mayPassEarlier
  }
}

const describe = (body: ErrorBody): string => {
  if ('message' in body) return body.message
  return typeof body.error === 'string' ? body.error : `${body.error.code}: ${body.error.message}`
}

const text = (status: number, message: string, headers?: Record<string, string>) =>
  new AppError(status, { error: message }, headers ? { headers } : {})

const missing = (message: string) => new AppError(404, { message })

const coded = (code: ErrorCode, message: string, details?: ErrorDetails, headers: Record<string, string> = {}) =>
  new AppError(ERROR_STATUSES[code], { error: { code, message, ...(details && { details }) } }, { headers })

/** Marks an error as raised after work started, so an Idempotency-Key stores the answer. */
export const asFinal = (error: AppError): AppError =>
  new AppError(error.status, error.body, { headers: error.headers, final: true })

/** Returns the code of any error, with or without a body code. */
export function errorCodeOf(status: number, body: unknown): ErrorCode {
  const code = Object(Object(body).error).code
  if (isErrorCode(code)) return code
  return CODE_OF_STATUS.get(status) ?? 'internal_error'
}

const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(ERROR_STATUSES, code)
const CODE_OF_STATUS: ReadonlyMap<number, ErrorCode> = new Map([
  [400, 'bad_request'],
  [401, 'unauthorized'],
  [404, 'not_found'],
  [409, 'duplicate_resource'],
])

export const hasCode = (error: unknown, code: ErrorCode): boolean =>
  error instanceof AppError && 'error' in error.body && Object(error.body.error).code === code

// `text` has the body {"error": text}, `missing` is 404 with {"message": text}, `coded` has {"error": {code, message,
// details}}.

export const missingCredentials = () => text(401, 'Missing API client ID or API key', { 'www-authenticate': 'Bearer' })
export const unauthorized = (message = 'The credential is missing or wrong') =>
  coded('unauthorized', message, undefined, { 'www-authenticate': 'Bearer' })
/** 401; the console then shows the sign-in page. */
export const signInRequired = () => coded('unauthorized', 'Sign in to the console')
/** 401 for several console cookies: another site may have set one. */
export const severalSessions = () =>
  coded('unauthorized', 'The browser sent several session cookies: remove the cookies of this site and sign in again', {
    hasSeveralCookies: true,
  })
/** One answer for every failed sign-in: must not reveal the cause. */
export const signInRefused = () => coded('unauthorized', 'The key or link is not valid, or not valid any more')
/** 409 for a sign-in link opened while signed in; the page offers both sessions. */
export const sessionExists = (current: SignedIn, offered: SignedIn) =>
  coded('session_exists', 'The browser is signed in: the link would replace its session', { current, offered })
type SignedIn = { name: string; company: { id: number; name: string } | null }
export const forbidden = (message: string) => coded('forbidden', message)
export const httpsRequired = () =>
  forbidden(
    'HTTPS is required: give the service a certificate (TLS_CERT_FILE, TLS_KEY_FILE), or name your proxy in TRUST_PROXY and let it send X-Forwarded-Proto: https. For local work only, PLAIN_HTTP=loopback admits plain HTTP from the same machine',
  )
export const notFound = (message = 'There is nothing at this address') => coded('not_found', message)
export const serviceUnavailable = (message: string, retryAfterSeconds?: number) =>
  coded(
    'service_unavailable',
    message,
    undefined,
    retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) },
  )
export const internalError = () => coded('internal_error', 'Something went wrong on our side')
/** Nothing was done, so the request can be repeated at once. */
export const overloaded = (retryAfterSeconds: number) =>
  serviceUnavailable('Too many requests wait at present: nothing was done, try again', retryAfterSeconds)
const MOVING_RETRY_SECONDS = 30
export const companyMoving = () =>
  serviceUnavailable('The company is being moved: try again later', MOVING_RETRY_SECONDS)
export const badRequest = (message: string, fields?: FieldFault[]) =>
  coded('bad_request', message, fields && { fields })
/** 422 with a fault per field; a single field is also in the message. */
export const validationError = (fields: FieldFault[], message = describeFields(fields)) =>
  coded('validation_error', message, { fields })
export const unsupportedMediaType = (message: string) => coded('unsupported_media_type', message)
export const unsupportedContentEncoding = () =>
  unsupportedMediaType('Bodies with a Content-Encoding other than identity are not read')
export const expectationFailed = () => coded('expectation_failed', 'The only supported Expect value is 100-continue')
export const lateRequest = () => coded('request_timeout', 'The request did not arrive in time')

export const slowBody = () =>
  coded('request_timeout', 'The body arrives too slowly: at least 8 KiB a second are expected')
export const payloadTooLarge = (limitBytes: number) =>
  coded('payload_too_large', `The body is larger than ${limitBytes} bytes`)
/** 429 with `retry_after` in the body and `Retry-After` in the headers, both in seconds. */
export const rateLimitExceeded = (
  retryAfterSeconds: number,
  message = 'Too many requests',
  { mayPassEarlier = false } = {},
) =>
  new AppError(
    429,
    { error: { code: 'rate_limit_exceeded', message, retry_after: retryAfterSeconds } },
    { headers: { 'retry-after': String(retryAfterSeconds) }, mayPassEarlier },
  )

const describeFields = (fields: FieldFault[]): string =>
  fields.length === 1 && fields[0] ? `${fields[0].path} ${fields[0].message}` : `${fields.length} fields are not valid`

export const idempotencyKeyInUse = () =>
  coded('idempotency_key_in_use', 'The first request with this Idempotency-Key is still running')
export const idempotencyKeyReused = () =>
  coded('idempotency_key_reused', 'This Idempotency-Key was used for another request')

// Missing records: must answer the same for another company's
export const companyNotFound = () => missing('Company not found')
export const contactNotFound = () => missing('Contact not found')
export const customFieldNotFound = () => missing('Custom field not found')
export const importNotFound = () => missing('Import not found')
export const conversationNotFound = () => missing('Conversation not found')
export const registrationNotFound = () => missing('Webhook registration not found')
export const deliveryNotFound = () => missing('Delivery not found')
export const messageNotFound = () => missing('Message not found')
export const scheduledMessageNotFound = () => missing('Scheduled message not found')
export const deliveryLogNotFound = () => missing('Delivery log not found')
export const transactionalNotFound = () => missing('Transactional not found')
export const emailNotFound = () => missing('Email not found')
export const suppressionNotFound = () => missing('Suppression not found')
export const eventNotFound = () => missing('Event not found')
export const jobNotFound = () => missing('Job not found')
export const senderRecordNotFound = () => missing('Sender not found')
export const quickReplyNotFound = () => missing('Quick reply not found')
export const sessionNotFound = () => missing('Session not found')
export const apiKeyNotFound = () => missing('API key not found')

export const missingRecipient = () => text(400, 'Missing recipient phone number')
export const sendFailed = () => text(500, 'Failed to send the message')
/** Such as `(#100) Invalid parameter`. */
export const providerText = (message: string) => text(400, message)
/** 422; paths such as `recipient` or `3.phone`. */
export const invalidPhoneNumber = (...fields: FieldFault[]) =>
  coded('invalid_phone_number', `The phone number ${fields[0]?.message ?? 'is not in E.164 format'}`, {
    fields,
  })
export const senderNotFound = () => coded('WHATSAPP_SENDER_NOT_FOUND', 'The sender is not one of the connected numbers')
/** For a scheduled message whose number was removed meanwhile. */
export const senderRemoved = () => coded('WHATSAPP_SENDER_NOT_FOUND', 'The sending number was removed')
export const noWhatsappAccount = () => coded('no_whatsapp_account', 'No WhatsApp account is connected')
export const templateNotFound = (details?: ErrorDetails) =>
  coded('template_not_found', 'The template does not exist in that language', details)
export const templateNotApproved = (name: string, status: string) =>
  coded('template_not_approved', `The template ${name} is ${status} and cannot be sent`, { name, status })
export const parameterMismatch = (details: ErrorDetails, message = 'The parameters do not fit the template') =>
  coded('parameter_mismatch', message, details)
export const refusedByProvider = (path: string, provider: string, code: 'validation_error' | 'invalid_phone_number') =>
  coded(code, `The provider refuses the request: ${provider}`, {
    fields: [{ path, message: `is refused by the provider: ${provider}` }],
    provider,
  })
export const recipientNotOnWhatsapp = () => coded('recipient_not_on_whatsapp', 'The recipient is not on WhatsApp')
/** 422 outside the 24-hour window. Both times are null if the provider refused, or the customer never wrote. */
export const sessionWindowClosed = (lastInboundAt: Date | null, closedAt: Date | null) =>
  coded('session_window_closed', 'The customer has not written within the last 24 hours', {
    lastInboundAt: lastInboundAt?.toISOString() ?? null,
    closedAt: closedAt?.toISOString() ?? null,
    remedy: 'Send an approved UTILITY or AUTHENTICATION template, or wait until the customer writes',
  })
/** 422; `path` points into the request. */
export const unsupportedByTransport = (path: string, what: string, provider: string) =>
  validationError([{ path, message: `${what} is not supported by the transport ${provider}` }])
export const marketingRefused = () => forbidden('The contact has opted out of WhatsApp marketing')
export const dailyLimitReached = (retryAfterSeconds: number) =>
  rateLimitExceeded(retryAfterSeconds, 'The daily limit of this sender is reached', { mayPassEarlier: true })
export const providerThrottled = (retryAfterSeconds: number) =>
  rateLimitExceeded(retryAfterSeconds, 'The provider asked to wait')
/** 503 after a send that the provider may have accepted; must not be repeated. */
export const sendOutcomeUnknown = () =>
  coded('send_outcome_unknown', 'The provider did not answer: the message may have been sent; it is not repeated')
export const alreadySent = () => coded('already_sent', 'The message was sent and cannot be cancelled')
export const testOutcomeUnknown = () =>
  coded('send_outcome_unknown', 'The receiver may have received the sample delivery; it is not repeated')
export const duplicateResource = (message: string) => coded('duplicate_resource', message)

export const missingRequiredFields = () => text(400, 'Missing required fields')
export const customFieldExists = (key: string) => text(409, `A custom field with the key ${key} exists already`)
export const invalidGroupBy = (values = 'category') => coded('invalid_group_by', `groupBy must be ${values}`)

export const missingRecipientAddress = () => text(400, 'Missing recipient address')
export const emailFailed = () => text(500, 'Internal server error')
export const emailMarketingRefused = (message: string) => forbidden(message)
/** 410 for a legacy address past its removal date; `replacement` is the new path. */
export const gone = (message: string, replacement: string | null, headers: Record<string, string> = {}) =>
  coded('gone', message, replacement === null ? undefined : { replacement }, headers)
export const mediaNotFound = () => missing('Media not found')
/** 503 for a full or read-only disk. */
export const storageUnavailable = () =>
  serviceUnavailable(
    'The disk for files is full or read-only and nothing was stored: try again after the operator has repaired it',
  )
const STORAGE_RETRY_SECONDS = 5
export const mediaStorageUnavailable = () =>
  serviceUnavailable(
    'The media storage is unavailable: nothing was stored or sent, try again soon',
    STORAGE_RETRY_SECONDS,
  )
export const mediaNotReady = (retryAfterSeconds: number) =>
  serviceUnavailable('The file is temporarily unavailable: try again soon', retryAfterSeconds)
export const rangeNotSatisfiable = (sizeBytes: number) =>
  coded('range_not_satisfiable', `The file has ${sizeBytes} bytes`, undefined, {
    'content-range': `bytes */${sizeBytes}`,
  })
