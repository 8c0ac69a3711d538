export type Address = { readonly name: string | null; readonly address: string }

export type Mail = {
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
  readonly date: Date
  /** Identifies the mail in provider webhooks; null if the provider posts none. */
  readonly reportToken: string | null
  /** Envelope sender, which receives bounces; null: the `from` address. */
  readonly returnPath: string | null
}

export const SERVER_FAULTS = ['connection', 'timeout', 'greeting', 'tls', 'login', 'not-configured'] as const
export type ServerFault = (typeof SERVER_FAULTS)[number]

/** Server failures are values; only bugs throw. */
export type MailOutcome =
  | { kind: 'accepted'; message: string }
  | { kind: 'refused'; isTemporary: boolean; message: string }
  /** No connection, untrusted TLS, rejected login or greeting, or a session lost before the end of data. Retryable. */
  | { kind: 'unavailable'; fault: ServerFault; message: string }
  /** The server got the whole mail but never replied; may have accepted the mail. */
  | { kind: 'unknown'; message: string }
  | { kind: 'withheld' }

export const MAX_CONNECTIONS = 20

/** Total times per mail: a silence timeout alone would never stop a server that trickles. */
export type Deadlines = {
  beforeEndMs: number
  afterEndMs: number
}

export type Mailer = {
  /**
   * Sends one mail. Transmits everything but the end of data, then calls `confirmSubmission` and ends the mail only if
   * true: until then the server can deliver nothing, even if this process dies.
   */
  send(serverUrl: string, mail: Mail, confirmSubmission: () => Promise<boolean>): Promise<MailOutcome>
  close(): void
}
