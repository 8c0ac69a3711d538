import type { StatusRecord } from '../../../conversations/recording/waiting-status-store.ts'
import { isBillable } from '../../../conversations/usage/usage.ts'
import type { Preference } from '../../../people/consent/preference.ts'
import { isUserId } from '../../../people/people.ts'
import type { StatusItem } from '../../../providers/events/event-item.ts'
import type { Routed } from '../routing/route-items.ts'
import type { IdentityEvent } from './decide-inbound.ts'
import { reportedTimeOf, writerIdentities } from './item-records.ts'

/** Builds a status record. `enqueued` maps the provider id to a wamid; equal values mean no wamid. */
export function toStatusRecord({ item, sender, receivedAt }: Routed<StatusItem>): StatusRecord {
  const { recipientPhone, recipientUserId } = item
  const messageId = /^[1-9][0-9]{0,14}$/.test(item.callbackData ?? '') ? Number(item.callbackData) : null
  return {
    companyId: sender.companyId,
    senderId: sender.id,
    wamid: item.wamid === item.providerMessageId ? null : item.wamid,
    providerMessageId: item.providerMessageId,
    messageId,
    status: item.status === 'enqueued' ? null : item.status,
    occurredAt: reportedTimeOf({ item, receivedAt }),
    arrivedAt: receivedAt,
    recipientPhone,
    identities: writerIdentities({ phone: recipientPhone, userId: recipientUserId }),
    pricing: item.pricing && { ...item.pricing, billable: isBillable(item.pricing) },
    error: item.error,
    waitingId: null,
  }
}

/** Returns the recipient's user id. */
export const userIdOf = ({ identities }: StatusRecord): string | undefined => identities.find(isUserId)

/** Builds the opt-out when a failed message reports a customer who stopped marketing at the provider. */
export function toOptOut(
  { companyId, wamid, providerMessageId, occurredAt, arrivedAt }: StatusRecord,
  identities: readonly string[],
): Preference[] {
  if (identities.length === 0) return []
  const saidAt = occurredAt ?? arrivedAt
  const eventId = `failed ${wamid ?? providerMessageId}`
  return [{ companyId, identities: [...new Set(identities)], value: false, saidAt, eventId, arrivedAt }]
}

/** Builds the identity event for a status recipient. */
export function toRecipientReport(
  { companyId, recipientPhone: phone, occurredAt, arrivedAt }: StatusRecord,
  named: { userId: string; account: string; requestedIdentity: string | null },
): IdentityEvent {
  const report = { phone, ...named, at: (occurredAt ?? arrivedAt).getTime() }
  return { kind: 'recipient', companyId, wamid: null, report }
}
