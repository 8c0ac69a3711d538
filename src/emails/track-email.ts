import { type Rewritten, rewriteLinks } from './rewrite-links.ts'
import { createToken, type TokenUse } from './tracking-token.ts'

/** Where the addresses in mails are, by what they do. */
export const TRACKING_PATHS: Record<TokenUse, string> = {
  open: '/public/v1/o/',
  click: '/public/v1/c/',
  unsubscribe: '/public/v1/u/',
}

type Email = { companyId: number; id: number; secret: Buffer; html: string; trackOpens: boolean; trackClicks: boolean }
type Secretive = Pick<Email, 'companyId' | 'id' | 'secret'>

const addressOf = (baseUrl: string, email: Secretive, use: TokenUse, link: number): string =>
  `${baseUrl}${TRACKING_PATHS[use]}${createToken(email, use, link)}`

/** The mail's HTML as it goes out: links that count clicks, and the pixel that counts opens, as far as asked. */
export function trackEmail(baseUrl: string, email: Email): Rewritten {
  const own = Object.values(TRACKING_PATHS).map((path) => `${baseUrl}${path}`)
  return rewriteLinks(email.html, {
    isOwn: (url) => own.some((start) => url.startsWith(start)),
    ...(email.trackClicks && { linkAddress: (link: number) => addressOf(baseUrl, email, 'click', link) }),
    ...(email.trackOpens && { pixelAddress: addressOf(baseUrl, email, 'open', 0) }),
  })
}

/** The way out of marketing mails, by one click in the reader's own program (RFC 8058). */
export const unsubscribeHeaders = (baseUrl: string, email: Secretive): Record<string, string> => ({
  'List-Unsubscribe': `<${addressOf(baseUrl, email, 'unsubscribe', 0)}>`,
  'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
})
