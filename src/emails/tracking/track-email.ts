import { type Tracking, UNTRACKED } from './tracking.ts'
import { createToken, type TokenUse } from './tracking-token.ts'

export const TRACKING_PATHS: Record<TokenUse, string> = {
  open: '/public/v1/o/',
  click: '/public/v1/c/',
  unsubscribe: '/public/v1/u/',
}

type Email = { companyId: number; id: number; secret: Uint8Array }
export type TrackedEmail = Email & { html: string }

const addressOf = (baseUrl: string, email: Email, use: TokenUse, link: number): string =>
  `${baseUrl}${TRACKING_PATHS[use]}${createToken(email, use, link)}`

/** Finds tracked links and the open pixel in a mail's HTML. */
export async function trackingOf(
  baseUrl: string,
  { html, trackOpens, trackClicks }: { html: string; trackOpens: boolean; trackClicks: boolean },
): Promise<Tracking> {
  if (!trackOpens && !trackClicks) return UNTRACKED
  const own = Object.values(TRACKING_PATHS).map((path) => `${baseUrl}${path}`)
  const isOwn = (url: string) => own.some((start) => url.startsWith(start))
  // Loads its HTML parser for the first tracked mail.
  const { findTracking } = await import('./rewrite-links.ts')
  return findTracking(html, { links: trackClicks, pixel: trackOpens, isOwn })
}

export const trackedHtml = (baseUrl: string, email: TrackedEmail, { replacements }: Tracking): string =>
  putAddresses(email.html, replacements, (link) => addressOf(baseUrl, email, link === 0 ? 'open' : 'click', link))

/** Inserts addresses and keeps all other bytes. Calls `addressOf` once per link, even if repeated. */
export function putAddresses(html: string, replacements: string, addressOf: (link: number) => string): string {
  const texts = new Map<number, string>()
  const numbers = replacements === '' ? [] : replacements.split(' ').map(Number)
  let written = ''
  let at = 0
  for (let first = 0; first < numbers.length; first += 3) {
    const [kept = 0, replaced = 0, link = 0] = numbers.slice(first, first + 3)
    const text = texts.get(link) ?? (link === 0 ? pixelTag(addressOf(link)) : addressOf(link))
    texts.set(link, text)
    written += html.slice(at, at + kept) + text
    at += kept + replaced
  }
  return written + html.slice(at)
}

const pixelTag = (address: string): string =>
  `<img src="${address}" width="1" height="1" alt="" style="border:0;width:1px;height:1px">`

export const unsubscribeUrl = (baseUrl: string, email: Email): string => addressOf(baseUrl, email, 'unsubscribe', 0)

/** Returns one-click unsubscribe headers (RFC 8058). */
export const unsubscribeHeaders = (baseUrl: string, email: Email): Record<string, string> => ({
  'List-Unsubscribe': `<${unsubscribeUrl(baseUrl, email)}>`,
  'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
})
