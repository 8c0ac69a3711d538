import type { InboundItem } from '../../providers/events/event-item.ts'

type Handler = 'customers' | 'statuses' | 'templates' | 'limits' | 'consent' | 'control' | 'journal'

/** Handlers per item kind. A missing kind must not compile, so that no event is lost. */
const HANDLED_BY = {
  message: ['customers'],
  call: ['customers'],
  change: ['customers'],
  reaction: ['customers'],
  'number-changed': ['customers'],
  'user-id-changed': ['customers'],
  status: ['statuses'],
  preference: ['consent'],
  handover: ['control'],
  'template-status': ['templates', 'journal'],
  'template-quality': ['templates', 'journal'],
  'template-category': ['templates', 'journal'],
  'template-components': ['templates', 'journal'],
  'number-quality': ['limits', 'journal'],
  'account-event': ['limits', 'journal'],
  ignored: [],
  'unreadable-item': [],
} as const satisfies Record<InboundItem['kind'], readonly Handler[]>

export const isHandledBy = (handler: Handler, { kind }: InboundItem): boolean =>
  (HANDLED_BY[kind] as readonly Handler[]).includes(handler)
