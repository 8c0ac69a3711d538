import { EMAIL_STATS_EXAMPLE, EmailStats, toEmailStats } from '../../../emails/email-shape.ts'
import { listEmailsByIds } from '../../../emails/email-store.ts'
import { listStoredEvents } from '../../deliveries/delivery-store.ts'
import { type RecordEventKind, recordEvent } from '../event-kind.ts'

const NAME = 'email.status'
const CHANGES = ['sent', 'failed', 'bounced', 'opened', 'clicked', 'unsubscribed'] as const

declare module '../../../changes/record-change.ts' {
  interface RecordChanges {
    [NAME]: { id: number; change: (typeof CHANGES)[number] }
  }
}

export const emailStatus: RecordEventKind<typeof NAME> = {
  name: NAME,
  label: 'Statuses of emails',
  operationId: 'receiveEmailStatus',
  summary: 'Receive an email status',
  description:
    'A mail server accepted an email or refused it permanently, the email bounced, or its recipient opened it, followed a link, or unsubscribed. Each is sent once: `opened` and `clicked` at the first open and click. `data` is the email as in its statistics.',
  ...recordEvent(NAME, 'EmailStatusEvent', {
    id: 'eml_7Jq2mZp4Vx9Kt1Rb6Ws8Yd3F.opened',
    changes: CHANGES,
    change: 'opened',
    data: EmailStats,
    dataExample: EMAIL_STATS_EXAMPLE,
  }),
  async build(tx, _deps, companyId, changes) {
    const ids = [...new Set(changes.map(({ id }) => id))]
    const emails = new Map((await listEmailsByIds(tx, companyId, ids)).map(({ id, ...email }) => [id, email]))
    const events = changes.flatMap(({ id, change }) => {
      const email = emails.get(id)
      if (email === undefined) return []
      const eventId = `${email.uid}.${change}`
      return [{ eventId, messageId: null, conversationId: null, channelIds: null, change, data: toEmailStats(email) }]
    })
    // The record can't tell an earlier unsubscription.
    const repeatable = events.filter(({ change }) => change === 'unsubscribed').map(({ eventId }) => eventId)
    const stored = await listStoredEvents(tx, companyId, NAME, repeatable)
    return events.filter(({ eventId }) => !stored.has(eventId))
  },
}
