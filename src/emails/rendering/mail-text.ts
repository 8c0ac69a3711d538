import type { Tracking } from '../tracking/rewrite-links.ts'
import { trackingOf } from '../tracking/track-email.ts'
import { runMailTask } from './mail-worker.ts'

/** Shorter mails take some milliseconds at most: handing them to the worker would take as long. */
const MOST_CHARACTERS_HERE = 16_000

type Tracked = { html: string; trackOpens: boolean; trackClicks: boolean }

/** The tracked positions of a mail's HTML, see `trackingOf`; none when they take too long to find. */
export async function findTrackingOf(companyId: number, baseUrl: string, email: Tracked): Promise<Tracking> {
  const { html, trackOpens, trackClicks } = email
  if (html.length <= MOST_CHARACTERS_HERE) return trackingOf(baseUrl, email)
  const tracking = await runMailTask(companyId, 'track', { baseUrl, html, trackOpens, trackClicks })
  return tracking === 'too-slow' ? { places: [], targets: [] } : tracking
}

/** The text alternative of HTML, see `plainTextOf`; none when it takes too long to make. */
export async function makePlainText(companyId: number, html: string): Promise<string | null> {
  if (html.length <= MOST_CHARACTERS_HERE) {
    // Its library is loaded for the first mail without a text.
    const { plainTextOf } = await import('./plain-text.ts')
    return plainTextOf(html)
  }
  const text = await runMailTask(companyId, 'plainText', { html })
  return text === 'too-slow' ? null : text
}
