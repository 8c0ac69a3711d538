/** The time after a customer's message in which free text may be sent. */
export const WINDOW_MS = 24 * 60 * 60 * 1000
