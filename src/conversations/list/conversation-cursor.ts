import { Type } from 'typebox'
import { validationError } from '../../errors.ts'
import { decodeCursor, encodeCursor, isMicroseconds } from '../../http/paging/cursor.ts'
import { parseId } from '../../ids.ts'

/** A place in the list: the last activity, in microseconds since 1970, and the id that decides among equal ones. */
export type ActivityPlace = { readonly activityUs: number; readonly id: number }

/** Where a page starts: at a place, or at the present place of a conversation. */
export type ConversationCursor = {
  readonly side: 'before' | 'after'
  readonly at: ActivityPlace | { readonly chatId: number }
}

const KIND = 'active_at'

const cursor = (description: string) => Type.Optional(Type.String({ description }))

/** Query members `before` and `after` of the list. */
export const conversationCursorQuery = {
  before: cursor(
    'Returns the conversations that follow this cursor in the list, instead of a page. A cursor of `pagination` keeps its place when conversations become active; the id of a conversation means its present place. Anything else is answered 422.',
  ),
  after: cursor('Returns the conversations that precede this cursor, which is one as for `before`.'),
}

/** A cursor for the outside: it holds the place itself. */
export const toConversationCursor = ({ activityUs, id }: ActivityPlace): string =>
  encodeCursor(KIND, { value: activityUs, id })

/** Reads `before` or `after` of a query; 422 when it is neither a cursor of this list nor an id. */
export function readConversationCursor(query: { before?: string; after?: string }): ConversationCursor | undefined {
  const side = query.before === undefined ? 'after' : 'before'
  const text = query[side]
  if (text === undefined) return undefined
  const chatId = parseId(text)
  if (chatId !== undefined) return { side, at: { chatId } }
  const position = decodeCursor(text, KIND, isMicroseconds)
  if (position === undefined) throw unknownConversationCursor(side)
  return { side, at: { activityUs: position.value, id: position.id } }
}

/** 422 for a cursor that names no place in the list. */
export const unknownConversationCursor = (path: string) =>
  validationError([{ path, message: 'must be a cursor of this list, or the id of a conversation' }])
