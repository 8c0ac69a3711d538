import { hash, randomBytes } from 'node:crypto'

/** The use of an address in a mail. Only clicks have a link number other than 0. */
export type TokenUse = 'open' | 'click' | 'unsubscribe'

/** Which mail and link a token names, and the digest by which the database proves it. */
export type TrackingToken = {
  readonly companyId: number
  readonly emailId: number
  readonly link: number
  /** In hex, what follows the mail's secret under the digest: the use and the link. */
  readonly tail: string
  /** In hex. */
  readonly mac: string
}

const COMPANY_BYTES = 6
const EMAIL_BYTES = 6
const LINK_BYTES = 3
const MAC_BYTES = 18
const IDS_BYTES = COMPANY_BYTES + EMAIL_BYTES + LINK_BYTES
const USES: Record<TokenUse | 'report', string> = { open: '01', click: '02', unsubscribe: '03', report: '04' }
// 33 bytes: no character of the text is without meaning, so that no two texts are the same token.
const TOKEN = /^[A-Za-z0-9_-]{44}$/

/** The secret of one mail, from which all its tokens are made: 32 random bytes. */
export const newSecret = (): Buffer => randomBytes(32)

/**
 * The token of an address in a mail: 44 characters that name the mail, the use and the link, and 144 bits of a SHA-256
 * over a secret of this mail, which cannot be guessed or reused for another mail, use or link.
 */
export function createToken(
  email: { companyId: number; id: number; secret: Uint8Array },
  use: TokenUse,
  link: number,
): string {
  const bytes = Buffer.alloc(IDS_BYTES + MAC_BYTES)
  bytes.writeUIntBE(email.companyId, 0, COMPANY_BYTES)
  bytes.writeUIntBE(email.id, COMPANY_BYTES, EMAIL_BYTES)
  bytes.writeUIntBE(link, COMPANY_BYTES + EMAIL_BYTES, LINK_BYTES)
  digestOf(email.secret, tailOf(use, link)).copy(bytes, IDS_BYTES, 0, MAC_BYTES)
  return bytes.toString('base64url')
}

/** Reads a token; undefined when it cannot be one. Whether it is ours only the database can say. */
export function parseToken(text: string, use: TokenUse): TrackingToken | undefined {
  if (!TOKEN.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  const link = bytes.readUIntBE(COMPANY_BYTES + EMAIL_BYTES, LINK_BYTES)
  if ((use === 'click') !== link > 0) return undefined
  return {
    companyId: bytes.readUIntBE(0, COMPANY_BYTES),
    emailId: bytes.readUIntBE(COMPANY_BYTES, EMAIL_BYTES),
    link,
    tail: tailOf(use, link),
    mac: bytes.toString('hex', IDS_BYTES),
  }
}

/** The mail that a report is about, with 96 bits of the same digest. */
export type ReportToken = Pick<TrackingToken, 'companyId' | 'emailId' | 'tail' | 'mac'>

const REPORT_MAC_BYTES = 12
const REPORT_TOKEN = /^[0-9a-f]{48}$/

/** The token of reports about a mail, in hex: mail servers may change the case of an address, and its local part is short. */
export function createReportToken(email: { companyId: number; id: number; secret: Buffer }): string {
  const bytes = Buffer.alloc(COMPANY_BYTES + EMAIL_BYTES + REPORT_MAC_BYTES)
  bytes.writeUIntBE(email.companyId, 0, COMPANY_BYTES)
  bytes.writeUIntBE(email.id, COMPANY_BYTES, EMAIL_BYTES)
  digestOf(email.secret, tailOf('report', 0)).copy(bytes, COMPANY_BYTES + EMAIL_BYTES, 0, REPORT_MAC_BYTES)
  return bytes.toString('hex')
}

/** Reads a token of reports; undefined when it cannot be one. */
export function parseReportToken(text: string): ReportToken | undefined {
  const token = text.toLowerCase()
  if (!REPORT_TOKEN.test(token)) return undefined
  const bytes = Buffer.from(token, 'hex')
  return {
    companyId: bytes.readUIntBE(0, COMPANY_BYTES),
    emailId: bytes.readUIntBE(COMPANY_BYTES, EMAIL_BYTES),
    tail: tailOf('report', 0),
    mac: bytes.toString('hex', COMPANY_BYTES + EMAIL_BYTES),
  }
}

const digestOf = (secret: Uint8Array, tail: string): Buffer =>
  hash('sha256', Buffer.concat([secret, Buffer.from(tail, 'hex')]), 'buffer')

const tailOf = (use: TokenUse | 'report', link: number): string =>
  USES[use] + link.toString(16).padStart(2 * LINK_BYTES, '0')
