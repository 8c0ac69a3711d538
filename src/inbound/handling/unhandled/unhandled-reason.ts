import type { Unhandled } from './keep-unhandled.ts'

/** Why an item could not be routed or processed, as metrics name it. */
export const UNHANDLED_REASONS = ['no_number', 'not_proven', 'unreadable', 'no_customer', 'error'] as const
type UnhandledReason = (typeof UNHANDLED_REASONS)[number]

/** The reason of an item that belongs to a connected number, but to no customer. */
export const NO_CUSTOMER = 'it names no customer'

/** The kind of a reason: few, whatever strangers post. */
export function unhandledReasonOf({ state, reason }: Pick<Unhandled, 'state' | 'reason'>): UnhandledReason {
  if (state === 'unroutable') return 'no_number'
  if (state === 'unverified') return 'not_proven'
  if (state === 'unreadable') return 'unreadable'
  return reason === NO_CUSTOMER ? 'no_customer' : 'error'
}
