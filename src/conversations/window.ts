/** Time after a customer message in which free text can be sent. */
export const WINDOW_MS = 24 * 60 * 60 * 1000
