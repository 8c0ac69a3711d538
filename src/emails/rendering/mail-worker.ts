import { createTaskThread } from '../../fair/threads/task-thread.ts'
import { programFile } from '../../platform/program-file.ts'
import { trackingOf } from '../tracking/track-email.ts'
import { type Tracking, UNTRACKED } from '../tracking/tracking.ts'
import { type ComposedTexts, composeTexts, type EmailTexts } from './compose-texts.ts'
import type { MailTasks } from './mail-tasks.ts'

export const runMailTask = createTaskThread<MailTasks>({
  program: programFile('src/emails/rendering/mail-program.ts'),
  limitsMs: { examine: 300, render: 300, track: 3_000, compose: 3_000, report: 300 },
  memory: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 },
  maxWaiting: 2_000,
  maxWaitMs: 10_000,
})

/** Takes a few milliseconds at most, as long as a hand-over to the worker. */
const MOST_CHARACTERS_HERE = 16_000

type Tracked = { html: string; trackOpens: boolean; trackClicks: boolean }

/** Returns the tracked places of the HTML; none if the search takes too long. */
export async function findTrackingOf(companyId: number, baseUrl: string, email: Tracked): Promise<Tracking> {
  const { html, trackOpens, trackClicks } = email
  if (html.length <= MOST_CHARACTERS_HERE) return trackingOf(baseUrl, email)
  const tracking = await runMailTask(companyId, 'track', { baseUrl, html, trackOpens, trackClicks })
  return tracking === 'too-slow' ? UNTRACKED : tracking
}

/** Composes the final texts; a mail over the time limit is sent unchanged. */
export async function prepareTexts(baseUrl: string, email: EmailTexts, tracking: Tracking): Promise<ComposedTexts> {
  const { companyId, id, secret, html, text } = email
  if (html.length <= MOST_CHARACTERS_HERE) return composeTexts(baseUrl, email, tracking)
  const task = { baseUrl, email: { companyId, id, secret, html, text }, tracking }
  const composed = await runMailTask(companyId, 'compose', task)
  return composed === 'too-slow' ? { html, text } : composed
}
