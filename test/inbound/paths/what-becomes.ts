import type { Message } from '../../../src/conversations/conversation-store.ts'
import { toMessageRecord } from '../../../src/conversations/message-reply.ts'
import { type InboundRecord, isInboundRecord } from '../../../src/inbound/handling/batch/decide-inbound.ts'
import { toChange, toForwarded, toIdentityChange, toRecord } from '../../../src/inbound/handling/batch/item-records.ts'
import {
  toAccountEvent,
  toHandover,
  toMarketingTerms,
  toNumberLimit,
  toPreference,
  toTemplateEvent,
} from '../../../src/inbound/handling/handle-reports.ts'
import { toStatusRecord } from '../../../src/inbound/handling/handle-statuses.ts'
import {
  isChange,
  isConversational,
  isRenaming,
  isStatus,
  isWritten,
  type Routed,
} from '../../../src/inbound/handling/route-items.ts'
import type { InboundItem } from '../../../src/providers/events/event-item.ts'
import { itemsOf } from '../../provider-items.ts'

const SENDER = {
  companyId: 1,
  id: 3,
  provider: 'meta',
  phone: '390655501234',
  phoneName: 'Acme',
  phoneNumberId: '555',
  wabaAccountId: '901',
  hasReceivers: true,
  proofUntil: null,
} as const

/** Returns every effect of a body: records, envelopes without `raw`, journal entries, template, number and consent changes. */
export function whatBecomesOf(body: string): string {
  const receivedAt = new Date('2100-01-01T00:00:00Z')
  const outcomes = itemsOf(body).map((item) => {
    const event = { lane: 1, id: 1, part: '', others: [], body: Buffer.alloc(0), receivedAt, done: 0 }
    const routed = { item, sender: SENDER, receivedAt, event } as unknown as Routed<InboundItem>
    return { kind: item.kind, route: item.kind === 'ignored' ? null : item.route, ...outcomesOf(routed) }
  })
  // An id that is made of the whole message changes with all that it says.
  return JSON.stringify(outcomes).replaceAll(/sha256\.[\w-]+/g, 'sha256')
}

function outcomesOf(routed: Routed<InboundItem>) {
  const record = isWritten(routed) ? toRecord(routed) : undefined
  const forwarded = isConversational(routed) ? toForwarded({ ...routed, messageId: 1, conversationId: 1 }) : []
  return {
    record: record && shown(record),
    envelopes: forwarded.map(({ body }) => ({ ...JSON.parse(body), raw: undefined })),
    change: isChange(routed) && toChange(routed),
    identity: isRenaming(routed) && toIdentityChange(routed),
    status: isStatus(routed) && toStatusRecord(routed),
    journal: toAccountEvent(routed).map((entry) => ({ ...entry, digest: null })),
    template: toTemplateEvent(routed),
    limit: toNumberLimit(routed),
    terms: toMarketingTerms(routed),
    // Made of the others.
    preference: toPreference(routed).map((preference) => ({ ...preference, eventId: null })),
    handover: toHandover(routed),
  }
}

/** A record as the conversation and its messages show it, once it is stored. */
function shown(record: InboundRecord) {
  const { phone, userId, groupId, profileName, targetWamid, emoji, kind, opensWindow } = record
  const conversation = { phone, userId, groupId, profileName, opensWindow }
  if (!isInboundRecord(record) || kind === 'reaction') return { conversation, targetWamid, emoji }
  const row: Message = {
    ...{ id: 1, seq: 1, status: 'received', reaction: null, pricing: null, editedAt: null, revokedAt: null },
    ...{ wamid: record.wamid, type: record.type, text: record.text, error: record.error, sentAt: record.sentAt },
    ...{ senderName: record.senderName, quotedWamid: record.quotedWamid, quoted: null, context: record.context },
    kind: record.messageKind ?? record.type,
    direction: kind === 'echo' ? 'outbound' : 'inbound',
    media: record.media as Message['media'],
    content: record.content as Message['content'],
  }
  return { conversation, message: toMessageRecord(row, 1, () => 'address') }
}
