import { Type } from 'typebox'
import type { SetAsideRow } from '../inbound/item-store.ts'

/** An inbound item that could not be placed or processed, as the operator sees it. */
export const EventReply = Type.Object({
  id: Type.Integer(),
  reason: Type.String(),
  phoneNumberId: Type.Union([Type.String(), Type.Null()]),
  wabaAccountId: Type.Union([Type.String(), Type.Null()]),
  receivedAt: Type.String({ format: 'date-time' }),
  body: Type.String({ description: "The provider's own text for this item" }),
})

export const toEventReply = ({ id, reason, phoneNumberId, wabaAccountId, receivedAt, body }: SetAsideRow) => ({
  id,
  reason,
  phoneNumberId,
  wabaAccountId,
  receivedAt: receivedAt.toISOString(),
  body: body.toString('utf8'),
})
