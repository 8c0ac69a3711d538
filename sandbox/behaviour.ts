/** How the provider misbehaves at the moment; everything off is how it starts. */
export type Behaviour = {
  /** Every Graph answer waits this long, by a timer of its own. */
  latencyMs: number
  /** Share of sends (0 to 1) answered HTTP 500 with code 2, not accepted. */
  errorRate: number
  /** Every send and every upload of a file is refused with this error code. */
  refuseWithCode: number | null
  /** Every call is refused by the provider's own layer, in its own shape and without a code. */
  ownRefusal: { status: number; message: string } | null
  /** SMTP reply code with which the mail server refuses mail. */
  refuseMailWith: number | null
  /** `sent` and `delivered` follow each accepted message by themselves. */
  autoStatus: boolean
  /** Sends are accepted, then the connection is reset before the answer. */
  resetBeforeAnswer: boolean
  /** Every send is answered 502 with an HTML page, not accepted. */
  htmlErrors: boolean
  /** Sends are accepted, and the answer breaks off in the middle. */
  truncate: boolean
  /** Sends are accepted, and the answer never comes. */
  hang: boolean
}

/** The behaviour before any change: no delay, no error, and statuses as `autoStatus` says. */
export const calmBehaviour = (autoStatus: boolean): Behaviour => ({
  latencyMs: 0,
  errorRate: 0,
  refuseWithCode: null,
  ownRefusal: null,
  refuseMailWith: null,
  autoStatus,
  resetBeforeAnswer: false,
  htmlErrors: false,
  truncate: false,
  hang: false,
})
