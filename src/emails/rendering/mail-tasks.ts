import { AppError } from '../../platform/errors.ts'
import { type ReturnedMail, readDeliveryReport } from '../reports/delivery-report.ts'
import { trackingOf } from '../tracking/track-email.ts'
import type { Tracking } from '../tracking/tracking.ts'
import { composeTexts, type EmailTexts } from './compose-texts.ts'
import { examinePart, renderTemplate, type TemplateParts } from './liquid.ts'
import type { Values } from './template-values.ts'

/** CPU time grows with mail length, so these run in a thread (`mail-worker.ts`). */
export const MAIL_TASKS = {
  examine: examinePart,
  /** Refused values are returned: other error classes can't cross threads. */
  render: ({ parts, values, isStrict }: { parts: TemplateParts; values: Values; isStrict: boolean }) => {
    try {
      return { rendered: renderTemplate(parts, values, isStrict) }
    } catch (error) {
      if (error instanceof AppError) return { refusal: { status: error.status, body: error.body } }
      throw error
    }
  },
  track: ({ baseUrl, ...email }: { baseUrl: string; html: string; trackOpens: boolean; trackClicks: boolean }) =>
    trackingOf(baseUrl, email),
  compose: ({ baseUrl, email, tracking }: { baseUrl: string; email: EmailTexts; tracking: Tracking }) =>
    composeTexts(baseUrl, email, tracking),
  report: (mail: ReturnedMail) => readDeliveryReport(mail),
}

export type MailTasks = typeof MAIL_TASKS
