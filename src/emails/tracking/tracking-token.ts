import { hash, randomBytes } from 'node:crypto'

/** Only clicks have a link number other than 0. */
export type TokenUse = 'open' | 'click' | 'unsubscribe'

export type TrackingToken = {
  readonly companyId: number
  readonly emailId: number
  readonly link: number
  /** Hex digest input after the mail secret: use and link. */
  readonly tail: string
  readonly mac: string
}

const COMPANY_BYTES = 6
const EMAIL_BYTES = 6
const LINK_BYTES = 3
const MAC_BYTES = 18
const IDS_BYTES = COMPANY_BYTES + EMAIL_BYTES + LINK_BYTES
const USES: Record<TokenUse | 'report', string> = { open: '01', click: '02', unsubscribe: '03', report: '04' }
// 33 bytes, so every character counts and no two texts are the same token.
const TOKEN = /^[A-Za-z0-9_-]{44}$/

/** Returns 32 random bytes, the base of all tokens for one mail. */
export const newSecret = (): Buffer => randomBytes(32)

/** Creates a URL token: 144 bits of SHA-256 over the mail's secret; valid for one mail, use and link only. */
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

/** Parses a token; only the database can verify it. */
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

export type ReportToken = Pick<TrackingToken, 'companyId' | 'emailId' | 'tail' | 'mac'>

const REPORT_MAC_BYTES = 12
const REPORT_TOKEN = /^[0-9a-f]{48}$/

/** Creates a hex token: mail servers may change an address's case, and local parts must be short. */
export function createReportToken(email: { companyId: number; id: number; secret: Buffer }): string {
  const bytes = Buffer.alloc(COMPANY_BYTES + EMAIL_BYTES + REPORT_MAC_BYTES)
  bytes.writeUIntBE(email.companyId, 0, COMPANY_BYTES)
  bytes.writeUIntBE(email.id, COMPANY_BYTES, EMAIL_BYTES)
  digestOf(email.secret, tailOf('report', 0)).copy(bytes, COMPANY_BYTES + EMAIL_BYTES, 0, REPORT_MAC_BYTES)
  return bytes.toString('hex')
}

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

const LOCAL_PART = 'bounce+'

export const returnPath = (domain: string, token: string): string => `${LOCAL_PART}${token}@${domain}`

export function readReturnPath(domain: string, address: string): ReportToken | undefined {
  const [local = '', host, ...rest] = address.toLowerCase().split('@')
  if (host !== domain.toLowerCase() || rest.length > 0 || !local.startsWith(LOCAL_PART)) return undefined
  return parseReportToken(local.slice(LOCAL_PART.length))
}
