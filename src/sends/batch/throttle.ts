import type { ThrottleLimits } from './decide-sends.ts'

/** Messages per customer at once, as the provider allows. */
export const PAIR_BURST = 45
/** Between a customer's messages after the burst. */
export const PAIR_SECONDS = 6
/** Sends with later slots are refused. */
export const LONGEST_WAIT_SECONDS = 5

export const LIMITS: ThrottleLimits = {
  pairBurst: PAIR_BURST,
  pairSeconds: PAIR_SECONDS,
  longestWaitSeconds: LONGEST_WAIT_SECONDS,
}
