import type { ProviderError, RefusalReason, SendFailure } from './provider.ts'

/**
 * The reason of each code of the providers. The HTTP status is not reliable. Codes of four digits are the providers'
 * own; a code that is not listed is `other`.
 */
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

/** Codes that say that the customer has stopped marketing messages of the business. */
const OPT_OUTS: ReadonlySet<number> = new Set([131050, 1012])

type Code = Pick<ProviderError, 'code'> | null

/** Whether a refusal or failure says that the customer has stopped marketing messages of the business. */
export const isOptOut = (error: Code): boolean => typeof error?.code === 'number' && OPT_OUTS.has(error.code)

/** Whether a refusal or failure says that the recipient is not on WhatsApp. */
export const isNotOnWhatsapp = (error: Code): boolean =>
  typeof error?.code === 'number' && REASONS.get(error.code) === 'not_on_whatsapp'

/** Codes that ask to wait, and for how many seconds when the answer does not say. */
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

/** A throttle without a known code that does not say how long it lasts. */
export const THROTTLE_SECONDS = 60

type RefusedAnswer = { status: number; retryAfterSeconds: number | null }

/** Codes that refuse the credential itself, for any request. */
const DENIALS: ReadonlySet<number> = new Set([0, 190])

/** Whether the provider refuses the credential itself, for any request. */
export const isDenial = (error: ProviderError): boolean => error.code !== null && DENIALS.has(error.code)

/** The same question will be refused again: the provider neither asks to wait nor is unavailable. */
export function isFinal(error: ProviderError): boolean {
  const outcome = refusalOf(error)
  return outcome.kind === 'refused' && outcome.reason !== 'unavailable'
}

/**
 * Returns the outcome of a refusal by the provider's code. The HTTP status decides nothing, except that 429 with an unknown code
 * is `throttled`. A throttle lasts as long as the answer says, else the code's usual time.
 */
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

/** Any value of a request; only the text says which one. */
const VALUE_INVALID = 131009
const ABOUT_THE_NUMBER = /phone number|recipient|\bparameter ['"]?to\b/i

function reasonOf({ code, title, details }: ProviderError): RefusalReason {
  if (code === VALUE_INVALID && ABOUT_THE_NUMBER.test(`${title} ${details}`)) return 'invalid_number'
  // Code 200 is a missing permission of any kind.
  if (code === 200 && /accept the Marketing Messages/i.test(title)) return 'marketing_address'
  return (code === null ? undefined : REASONS.get(code)) ?? 'other'
}
