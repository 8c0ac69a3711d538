/**
 * The port to mail servers. Failures of a server are values here, never exceptions: only a fault of the program throws.
 */
export type Address = { readonly name: string | null; readonly address: string }

/** One mail to one recipient. */
export type Mail = {
  /** Companies take turns where mails wait for this process. */
  readonly companyId: number
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
  /** Names the mail in reports that providers post about it; null: none is read. */
  readonly reportToken: string | null
  /** The address that mail servers report to; null: that of the sender. */
  readonly returnPath: string | null
}

/** Why a server takes no mail at all at present, whichever mail it is. */
export const SERVER_FAULTS = ['connection', 'timeout', 'greeting', 'tls', 'login', 'not-configured'] as const
export type ServerFault = (typeof SERVER_FAULTS)[number]

/** How an attempt ended. `message` is the server's own text, or the reason why there is none. */
export type MailOutcome =
  | { kind: 'accepted'; message: string }
  /** The server refused this mail; a later attempt may succeed (4xx) or not (5xx). */
  | { kind: 'refused'; isTemporary: boolean; message: string }
  /**
   * The server takes no mail at present: no connection, no trusted TLS, a refused login, a refusal in the greeting, or a
   * session that ended before the end of the mail. The mail is not at fault, so a later attempt may succeed.
   */
  | { kind: 'unavailable'; fault: ServerFault; message: string }
  /** The server had the whole mail, and its answer is missing: it may have taken it, or not. */
  | { kind: 'unknown'; message: string }
  /** `confirmSubmission` said no. */
  | { kind: 'withheld' }

/** Connections of one process to one mail server at most. */
export const MAX_CONNECTIONS = 20

/** How long a server may take for one mail; a server that trickles is never silent, so these are totals. */
export type Deadlines = {
  /** From the mail's slot until its end is released, connection and login included. */
  beforeEndMs: number
  /** From the end of the mail to the answer. */
  afterEndMs: number
}

export type Mailer = {
  /**
   * Sends one mail through the server at this address. Everything but the end of the mail is transmitted, then
   * `confirmSubmission` is asked, and only when it answers true is the mail ended: until then the server has nothing that it
   * could deliver, whatever happens to this process.
   */
  send(serverUrl: string, mail: Mail, confirmSubmission: () => Promise<boolean>): Promise<MailOutcome>
  /** Closes all connections; a second call changes nothing. */
  close(): void
}
