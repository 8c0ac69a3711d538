import { type TrackedEmail, trackedHtml } from '../tracking/track-email.ts'
import type { Tracking } from '../tracking/tracking.ts'

export type EmailTexts = TrackedEmail & { text: string | null }
export type ComposedTexts = { html: string; text: string | null }

/** The texts of a mail as it goes out: its HTML with the tracked addresses, and where it has no text, the one made of its HTML. */
export async function composeTexts(baseUrl: string, email: EmailTexts, tracking: Tracking): Promise<ComposedTexts> {
  return { html: trackedHtml(baseUrl, email, tracking), text: email.text ?? (await makeText(email.html)) }
}

/** Its library is loaded for the first mail without a text. */
const makeText = async (html: string) => (await import('./plain-text.ts')).plainTextOf(html)
