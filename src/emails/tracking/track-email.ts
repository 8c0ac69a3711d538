import { findTracking, putAddresses, type Tracking } from './rewrite-links.ts'
import { createToken, type TokenUse } from './tracking-token.ts'

/** Where the addresses in mails are, by what they do. */
export const TRACKING_PATHS: Record<TokenUse, string> = {
  open: '/public/v1/o/',
  click: '/public/v1/c/',
  unsubscribe: '/public/v1/u/',
}

type Email = { companyId: number; id: number; secret: Buffer }

const addressOf = (baseUrl: string, email: Email, use: TokenUse, link: number): string =>
  `${baseUrl}${TRACKING_PATHS[use]}${createToken(email, use, link)}`

/**
 * The tracked positions of a mail's HTML, as its options ask: links that count clicks, and the pixel that counts opens.
 */
export function trackingOf(
  baseUrl: string,
  { html, trackOpens, trackClicks }: { html: string; trackOpens: boolean; trackClicks: boolean },
): Tracking {
  if (!trackOpens && !trackClicks) return { places: [], targets: [] }
  const own = Object.values(TRACKING_PATHS).map((path) => `${baseUrl}${path}`)
  const isOwn = (url: string) => own.some((start) => url.startsWith(start))
  return findTracking(html, { links: trackClicks, pixel: trackOpens, isOwn })
}

/** The mail's HTML as it goes out. */
export const trackedHtml = (baseUrl: string, email: Email & { html: string }, { places }: Tracking): string =>
  putAddresses(email.html, places, (link) => addressOf(baseUrl, email, link === 0 ? 'open' : 'click', link))

/** The headers by which the reader's program unsubscribes from marketing mails with one click (RFC 8058). */
export const unsubscribeHeaders = (baseUrl: string, email: Email): Record<string, string> => ({
  'List-Unsubscribe': `<${addressOf(baseUrl, email, 'unsubscribe', 0)}>`,
  'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
})
