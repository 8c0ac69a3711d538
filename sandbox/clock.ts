/** The sandbox's only source of time. */
export type Clock = { now(): Date }

export const systemClock: Clock = { now: () => new Date() }

/** Milliseconds that only ever grow: for waiting, never for the time of day. */
export const monotonicMs = (): number => performance.now()

/** Epoch seconds as text, which is how the provider writes a moment. */
export const epochSeconds = (at: Date): string => String(Math.floor(at.getTime() / 1000))
