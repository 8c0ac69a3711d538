import { Type } from 'typebox'
import { beforeQuery } from '../http/paging.ts'
import type { SetAsideRow } from '../inbound/item-store.ts'

export const EVENT_PAGE = { defaultSize: 25, maxSize: 100 }
export const EventQuery = Type.Object(beforeQuery(EVENT_PAGE))

const Id = Type.Union([Type.String(), Type.Null()])

/** An inbound item that could not be placed or processed, as the operator sees it. */
export const EventReply = Type.Object({
  id: Type.Integer(),
  state: Type.String({
    description: '`unroutable`, `unverified` (nothing proves its number’s secret), `failed` or `unreadable`',
  }),
  reason: Type.String(),
  phoneNumberId: Id,
  wabaAccountId: Id,
  app: Id,
  receivedAt: Type.String({ format: 'date-time' }),
  body: Type.String({ description: "The provider's own text for this item; in a list its first 4 KiB" }),
  bodyBytes: Type.Integer({ description: 'Length of the whole text in bytes' }),
})

export const toEventReply = (row: SetAsideRow) => ({
  id: row.id,
  state: row.state,
  reason: row.reason,
  phoneNumberId: row.phoneNumberId,
  wabaAccountId: row.wabaAccountId,
  app: row.app,
  receivedAt: row.receivedAt.toISOString(),
  // As a stream: a character that is cut in two at the end is left out.
  body: new TextDecoder('utf-8', { ignoreBOM: true }).decode(row.body, { stream: row.body.length < row.bodyBytes }),
  bodyBytes: row.bodyBytes,
})
