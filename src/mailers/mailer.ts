/**
 * The port to mail servers. Failures of a server are values here, never exceptions: only a fault of the program throws.
 */
export type Address = { readonly name: string | null; readonly address: string }

/** One mail to one recipient. */
export type Mail = {
  /** With angle brackets; the same in every attempt. */
  readonly messageId: string
  readonly from: Address
  readonly to: string
  readonly replyTo: string | null
  readonly subject: string
  readonly html: string
  readonly text: string | null
  readonly headers: Readonly<Record<string, string>>
  /** When it was accepted from its sender. */
  readonly date: Date
}

/** How an attempt ended, `words` being the server's own, or what kept us from having any. */
export type MailOutcome =
  | { kind: 'accepted'; words: string }
  /** The server refused this mail; a later attempt may succeed (4xx) or not (5xx). */
  | { kind: 'refused'; isTemporary: boolean; words: string }
  /** The server was not reached, or the session ended before it could have had the whole mail. */
  | { kind: 'unreachable'; words: string }
  /** The server had the whole mail, and its answer is missing: it may have taken it, or not. */
  | { kind: 'unknown'; words: string }
  /** `handOver` said no. */
  | { kind: 'withheld' }

/** Connections of one process to one mail server at most. */
export const MAX_CONNECTIONS = 20

export type Mailer = {
  /**
   * Sends one mail through the server at this address. Everything but the end of the mail is transmitted, then
   * `handOver` is asked, and only when it answers true is the mail ended: until then the server has nothing that it
   * could deliver, whatever happens to this process.
   */
  send(smtpUrl: string, mail: Mail, handOver: () => Promise<boolean>): Promise<MailOutcome>
  /** Closes all connections. */
  close(): void
}
