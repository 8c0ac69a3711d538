/**
 * One customer gets so many messages at once, … The provider lends 45; what it then refuses comes back as a throttle. The
 * margin lets fifty first sends at once through.
 */
export const PAIR_BURST = 50
/** … and from then on one in so many seconds. */
export const PAIR_SECONDS = 6
/** A send waits so long for its turn; one whose turn comes later is refused. */
export const LONGEST_WAIT_SECONDS = 5
