import type { Unhandled } from './keep-unhandled.ts'

export const UNHANDLED_REASONS = ['no_number', 'not_proven', 'unreadable', 'no_customer', 'error'] as const
type UnhandledReason = (typeof UNHANDLED_REASONS)[number]

export const NO_CUSTOMER = 'it names no customer'

/** Maps a reason to a fixed label set, whatever strangers post. */
export function unhandledReasonOf({ state, reason }: Pick<Unhandled, 'state' | 'reason'>): UnhandledReason {
  if (state === 'unroutable') return 'no_number'
  if (state === 'unverified') return 'not_proven'
  if (state === 'unreadable') return 'unreadable'
  return reason === NO_CUSTOMER ? 'no_customer' : 'error'
}
