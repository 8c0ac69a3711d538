import { AppError } from '../../platform/errors.ts'
import { type ReturnedMail, readDeliveryReport } from '../reports/delivery-report.ts'
import { trackingOf } from '../tracking/track-email.ts'
import type { Tracking } from '../tracking/tracking.ts'
import { composeTexts, type EmailTexts } from './compose-texts.ts'
import { examinePart, renderTemplate, type TemplateParts } from './liquid.ts'
import type { Values } from './template-values.ts'

/** The work on mails whose processor time grows with their length, by name: `mail-worker.ts` runs it in a thread. */
export const MAIL_TASKS = {
  examine: examinePart,
  /** The refusal of values that do not fit is a value: errors of other classes do not pass between the workers. */
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
