import { toContactReply } from '../contacts/contact-shape.ts'
import { toListedImport } from '../contacts/import/contact-import-reply.ts'
import { findImport } from '../contacts/import/contact-import-store.ts'
import { toConversationRecord } from '../conversations/conversation-reply.ts'
import { listConversationIdsOf, listMessagesByIds } from '../conversations/conversation-store.ts'
import { listConversationsByIds } from '../conversations/list/conversation-list-store.ts'
import { type MediaAddress, toMessageRecord } from '../conversations/message-reply.ts'
import { onBehalfOf } from '../db/pool/fair-pool.ts'
import { createHub, type Hub } from '../live/hub.ts'
import { listContactsByIds } from '../people/contact-store.ts'
import { toDeliveryRecord } from '../webhooks/deliveries/delivery-shape.ts'
import { listDeliveriesByIds } from '../webhooks/deliveries/list/delivery-list-store.ts'
import type { Deps } from './deps.ts'

/** Builds this process's live streams. They read records through the company's share of the pool. */
export function createLiveHub(deps: Deps, mediaAddress: MediaAddress): Hub {
  const { db, pool, clock, log } = deps
  const withCompanySlot =
    <Rest extends unknown[], Found>(read: (companyId: number, ...rest: Rest) => Promise<Found>) =>
    (companyId: number, ...rest: Rest) =>
      onBehalfOf({ companyId, isHeavy: false, isAwaited: () => true }, () => read(companyId, ...rest))
  return createHub({
    db: pool,
    clock,
    onFailure: (error) => log.warn({ reason: String(error) }, 'live.failed'),
    readers: {
      conversation: withCompanySlot(async (companyId, ids) => {
        const rows = await listConversationsByIds(db, companyId, ids)
        return rows.map((row) => toConversationRecord(row, clock.now()))
      }),
      message: withCompanySlot(async (companyId, ids) => {
        const rows = await listMessagesByIds(db, companyId, ids)
        return rows.map((row) => ({
          chatId: row.conversationId,
          message: toMessageRecord(row, companyId, mediaAddress),
        }))
      }),
      contact: withCompanySlot(async (companyId, ids) => {
        const contacts = await listContactsByIds(db, companyId, ids)
        const living = new Set(contacts.map(({ id }) => id))
        const deleted = ids.filter((id) => !living.has(id)).map((id) => ({ id, deleted: true }))
        return [...contacts.map((contact) => toContactReply(companyId, contact)), ...deleted]
      }),
      delivery: withCompanySlot(async (companyId, ids) =>
        (await listDeliveriesByIds(db, companyId, ids)).map(toDeliveryRecord),
      ),
      import: withCompanySlot(async (companyId, ids) => {
        const found = await Promise.all(ids.map((id) => findImport(db, companyId, id)))
        return found.flatMap((one) => (one === undefined ? [] : [toListedImport(one)]))
      }),
      scheduled: async (_companyId, ids) => ids.map((chatId) => ({ chatId })),
      conversationsOf: withCompanySlot((companyId, ids, limit) => listConversationIdsOf(db, companyId, ids, limit)),
    },
  })
}
