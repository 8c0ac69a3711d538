import { Type } from 'typebox'
import { decodeCursor, encodeCursor, isMicroseconds } from '../../http/paging/cursor.ts'
import { validationError } from '../../platform/errors.ts'
import { parseId } from '../../platform/ids.ts'

/** A place in the list: the last activity, in microseconds since 1970, and the id that decides among equal ones. */
export type ActivityPlace = {
  readonly activityUs: number
  readonly id: number
  /** In a ranked list: whether the conversation is one of those with a word that starts with the search. */
  readonly starts?: boolean
}

/** Where a page starts: at a place, or at the present place of a conversation. */
export type ConversationCursor = {
  readonly side: 'before' | 'after'
  readonly at: ActivityPlace | { readonly chatId: number }
}

const KIND = 'active_at'
const RANKED_KINDS = { starts: 'active_at starts', inside: 'active_at inside' } as const

const cursor = (description: string) => Type.Optional(Type.String({ description }))

/** Query members `before` and `after` of the list. */
export const conversationCursorQuery = {
  before: cursor(
    'Returns the conversations that follow this cursor in the list, instead of a page. A cursor of `pagination` keeps its place when conversations become active; the id of a conversation means its present place. Anything else is answered 422.',
  ),
  after: cursor('Returns the conversations that precede this cursor, which is one as for `before`.'),
}

/** A cursor for the outside: it holds the place itself. */
export const toConversationCursor = ({ activityUs, id, starts }: ActivityPlace): string =>
  encodeCursor(starts === undefined ? KIND : RANKED_KINDS[starts ? 'starts' : 'inside'], { value: activityUs, id })

/** Reads `before` or `after` of a query; 422 when it is neither a cursor of this list nor an id. */
export function readConversationCursor(query: { before?: string; after?: string }): ConversationCursor | undefined {
  const side = query.before === undefined ? 'after' : 'before'
  const text = query[side]
  if (text === undefined) return undefined
  const chatId = parseId(text)
  if (chatId !== undefined) return { side, at: { chatId } }
  const place =
    readPlace(text, KIND) ?? readPlace(text, RANKED_KINDS.starts, true) ?? readPlace(text, RANKED_KINDS.inside, false)
  if (place === undefined) throw unknownConversationCursor(side)
  return { side, at: place }
}

function readPlace(text: string, kind: string, starts?: boolean): ActivityPlace | undefined {
  const position = decodeCursor(text, kind, isMicroseconds)
  return position && { activityUs: position.value, id: position.id, ...(starts !== undefined && { starts }) }
}

/** 422 for a cursor that names no place in the list. */
export const unknownConversationCursor = (path: string) =>
  validationError([{ path, message: 'must be a cursor of this list, or the id of a conversation' }])
