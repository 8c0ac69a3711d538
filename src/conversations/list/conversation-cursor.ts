import { Type } from 'typebox'
import { decodeCursor, encodeCursor, isMicroseconds } from '../../http/paging/cursor.ts'
import { validationError } from '../../platform/errors.ts'
import { parseId } from '../../platform/ids.ts'

/** Last activity in microseconds since 1970; the id breaks ties. */
export type ActivityPlace = {
  readonly activityUs: number
  readonly id: number
  /** Ranked lists only: whether a word starts with the search. */
  readonly starts?: boolean
}

export type ConversationCursor = {
  readonly side: 'before' | 'after'
  readonly at: ActivityPlace | { readonly chatId: number }
}

const KIND = 'active_at'
const RANKED_KINDS = { starts: 'active_at starts', inside: 'active_at inside' } as const

const cursor = (description: string) => Type.Optional(Type.String({ description }))

export const conversationCursorQuery = {
  before: cursor(
    'Returns the conversations after this cursor instead of a page. A `pagination` cursor keeps its place when conversations become active; a conversation id means its present place. Any other value returns 422.',
  ),
  after: cursor('Returns the conversations before this cursor, which takes the same values as `before`.'),
}

export const toConversationCursor = ({ activityUs, id, starts }: ActivityPlace): string =>
  encodeCursor(starts === undefined ? KIND : RANKED_KINDS[starts ? 'starts' : 'inside'], { value: activityUs, id })

/** Parses `before` or `after`; 422 unless a cursor of this list or an id. */
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

export const unknownConversationCursor = (path: string) =>
  validationError([{ path, message: 'must be a cursor of this list, or the id of a conversation' }])
