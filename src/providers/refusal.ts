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
 * The outcome of a refusal by the provider's code alone, never by the HTTP status. A code that asks to wait is `throttled`, for
 * `retryAfterSeconds` or the code's usual time; an unknown code is `refused` with the reason `other`.
 */
export function refusalOf(error: ProviderError, retryAfterSeconds?: number): SendFailure {
  const wait = error.code === null ? undefined : THROTTLES.get(error.code)
  if (wait !== undefined) return { kind: 'throttled', retryAfterSeconds: retryAfterSeconds ?? wait, error }
  return { kind: 'refused', reason: reasonOf(error), error }
}

function reasonOf({ code, title }: ProviderError): RefusalReason {
  // Code 200 is a missing permission of any kind.
  if (code === 200 && /accept the Marketing Messages/i.test(title)) return 'marketing_address'
  return (code === null ? undefined : REASONS.get(code)) ?? 'other'
}
