import { type TrackedEmail, trackedHtml, unsubscribeUrl } from '../tracking/track-email.ts'
import type { Tracking } from '../tracking/tracking.ts'

export type EmailTexts = TrackedEmail & { text: string | null }
export type ComposedTexts = { html: string; text: string | null }

/** Returns the final texts with tracked links and unsubscribe link; makes a missing text from the HTML. */
export async function composeTexts(baseUrl: string, email: EmailTexts, tracking: Tracking): Promise<ComposedTexts> {
  const link = unsubscribeUrl(baseUrl, email)
  return {
    html: withLink(trackedHtml(baseUrl, email, tracking), link),
    text: email.text === null ? await makeText(withLink(email.html, link)) : withLink(email.text, link),
  }
}

/** Editors percent-encode the placeholder in link URLs. */
const UNSUBSCRIBE_LINK = /(?:\{\{|%7B%7B)(?:\s|%20)*unsubscribe_url(?:\s|%20)*(?:\}\}|%7D%7D)/gi

const withLink = (text: string, link: string): string => text.replaceAll(UNSUBSCRIBE_LINK, link)

const makeText = async (html: string) => (await import('./plain-text.ts')).plainTextOf(html)
