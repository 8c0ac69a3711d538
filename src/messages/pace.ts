/** One customer gets so many messages at once, as many as the provider lends, … */
export const PAIR_BURST = 45
/** … and from then on one in so many seconds. */
export const PAIR_SECONDS = 6
/** A send waits so long for its turn; one whose turn comes later is refused. */
export const LONGEST_WAIT_SECONDS = 5
