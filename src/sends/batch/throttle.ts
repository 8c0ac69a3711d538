import type { ThrottleLimits } from './decide-sends.ts'

/** Messages that one customer may get at once: the burst that the provider allows. */
export const PAIR_BURST = 45
/** Seconds between two messages to one customer after the burst. */
export const PAIR_SECONDS = 6
/** A send waits at most this long for its slot; if its slot is later, it is refused. */
export const LONGEST_WAIT_SECONDS = 5

export const LIMITS: ThrottleLimits = {
  pairBurst: PAIR_BURST,
  pairSeconds: PAIR_SECONDS,
  longestWaitSeconds: LONGEST_WAIT_SECONDS,
}
