import type { ProviderError, RefusalReason, SendFailure } from './provider.ts'

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
export const isDenial = (error: ProviderError): boolean => error.code !== null && DENIALS.has(error.code)

/** Returns whether a retry would fail again. */
export function isFinal(error: ProviderError): boolean {
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
