import { needsSmtpUtf8 } from '../platform/text/email-address.ts'

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

/** A later report about a mail that its server had accepted. */
export type MailReport =
  | { readonly kind: 'bounce'; readonly isPermanent: boolean; readonly message: string }
  | { readonly kind: 'complaint'; readonly message: string }

/** Reads a provider webhook into a report and its mail's token; returns undefined for everything else. */
export type ReadMailReport = (body: unknown) => { token: string; report: MailReport } | undefined

/** Returns the first address with a non-ASCII local part, which only SMTPUTF8 servers accept. */
export const utf8Address = ({ from, to, replyTo, returnPath }: Mail): string | undefined =>
  [to, from.address, replyTo, returnPath].find((address) => address !== null && needsSmtpUtf8(address)) ?? undefined

export const refuseUtf8 = (address: string): MailOutcome => ({
  kind: 'refused',
  isTemporary: false,
  message: `The mail server does not offer SMTPUTF8, which the address ${address} needs`,
})

const MAX_LENGTH = 500

/** Returns an error or server reply as one line without control characters, at most 500 characters. */
export const toServerMessage = (cause: unknown): string =>
  (cause instanceof Error ? cause.message : String(cause))
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .toWellFormed()
    .trim()
    .slice(0, MAX_LENGTH)
