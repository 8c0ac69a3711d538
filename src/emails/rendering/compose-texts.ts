import { type TrackedEmail, trackedHtml, unsubscribeUrl } from '../tracking/track-email.ts'
import type { Tracking } from '../tracking/tracking.ts'

export type EmailTexts = TrackedEmail & { text: string | null }
export type ComposedTexts = { html: string; text: string | null }

/**
 * Returns the texts of a mail as it goes out: with tracked addresses and the unsubscribe link in the HTML, and with the text made
 * of its HTML where it has none.
 */
export async function composeTexts(baseUrl: string, email: EmailTexts, tracking: Tracking): Promise<ComposedTexts> {
  const link = unsubscribeUrl(baseUrl, email)
  return {
    html: withLink(trackedHtml(baseUrl, email, tracking), link),
    text: email.text === null ? await makeText(withLink(email.html, link)) : withLink(email.text, link),
  }
}

/** As authors write it, and as editors encode it in the address of a link. */
const UNSUBSCRIBE_LINK = /(?:\{\{|%7B%7B)(?:\s|%20)*unsubscribe_url(?:\s|%20)*(?:\}\}|%7D%7D)/gi

const withLink = (text: string, link: string): string => text.replaceAll(UNSUBSCRIBE_LINK, link)

/** Its library is loaded for the first mail without a text. */
const makeText = async (html: string) => (await import('./plain-text.ts')).plainTextOf(html)
