import { createHash } from 'node:crypto'
import type { InboundItem } from '../../providers/events/event-item.ts'
import type { AccountEvent } from '../../senders/account-event-store.ts'
import { reportedTimeOf } from './batch/item-records.ts'
import { isHandledBy } from './item-handlers.ts'
import type { Routed } from './routing/route-items.ts'

/** Longer details are cut: people read the journal. */
const DETAILS_MAX_BYTES = 4 * 1024

/** Builds the journal row for an account item. */
export function toAccountEvent({ item, sender, receivedAt }: Routed<InboundItem>): AccountEvent[] {
  if (!isHandledBy('journal', item)) return []
  const raw = item.raw()
  return [
    {
      companyId: sender.companyId,
      wabaAccountId: sender.wabaAccountId,
      senderId: item.route.by === 'sender' ? sender.id : null,
      field: item.field ?? item.kind,
      ...described(item),
      digest: createHash('sha256').update(raw).digest(),
      occurredAt: reportedTimeOf({ item, receivedAt }),
    },
  ]
}

type Described = Pick<AccountEvent, 'event' | 'severity' | 'details'>

function described(item: InboundItem): Described {
  switch (item.kind) {
    case 'account-event':
      return { event: item.event, severity: item.severity, details: bounded(item.details) }
    case 'number-quality': {
      const isWorse = item.event === 'FLAGGED' || item.event === 'DOWNGRADE'
      const details = { phone: item.displayPhone, limit: item.limit }
      return { event: item.event, severity: isWorse ? 'warning' : 'info', details }
    }
    case 'template-status': {
      const isUsable = item.status === 'APPROVED' || item.status === 'PENDING' || item.status === null
      const details = { ...templateOf(item), reason: item.reason, explanation: item.explanation }
      return { event: item.event, severity: isUsable ? 'info' : 'warning', details: bounded(details) }
    }
    case 'template-quality':
      return {
        event: item.score,
        severity: item.score === 'RED' ? 'warning' : 'info',
        details: { ...templateOf(item), previous: item.previousScore },
      }
    case 'template-category':
      return {
        event: item.category,
        severity: 'info',
        details: { ...templateOf(item), previous: item.previousCategory },
      }
    case 'template-components':
      return { event: null, severity: 'info', details: templateOf(item) }
    default:
      return { event: null, severity: 'info', details: null }
  }
}

const templateOf = ({
  name,
  language,
  templateId,
}: {
  name: string | null
  language: string | null
  templateId: string | null
}) => ({
  template: name,
  language,
  templateId,
})

function bounded(details: object | null): AccountEvent['details'] {
  const text = JSON.stringify(details)
  return text.length <= DETAILS_MAX_BYTES ? JSON.parse(text) : { cut: text.slice(0, DETAILS_MAX_BYTES) }
}
