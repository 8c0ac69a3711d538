import { Type } from 'typebox'
import { validationError } from '../../errors.ts'
import { parseId } from '../../ids.ts'

/** A place in the list: the last activity, in microseconds since 1970, and the id that decides among equal ones. */
export type ActivityPlace = { readonly activityUs: number; readonly id: number }

/** Where a page starts: at a place, or at the present place of a conversation. */
export type ConversationCursor = {
  readonly side: 'before' | 'after'
  readonly at: ActivityPlace | { readonly chatId: number }
}

const KIND = 'active_at'
/** After the year 2200. */
const ACTIVITY_MAX_US = 7_300_000_000_000_000
const CURSOR_MAX_LENGTH = 100

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
  Buffer.from(JSON.stringify([KIND, activityUs, id])).toString('base64url')

/** Reads `before` or `after` of a query; 422 when it is neither a cursor of this list nor an id. */
export function readConversationCursor(query: { before?: string; after?: string }): ConversationCursor | undefined {
  const side = query.before === undefined ? 'after' : 'before'
  const text = query[side]
  if (text === undefined) return undefined
  const chatId = parseId(text)
  if (chatId !== undefined) return { side, at: { chatId } }
  const at = parsePlace(text)
  if (at === undefined) throw unknownConversationCursor(side)
  return { side, at }
}

/** 422 for a cursor that names no place in the list. */
export const unknownConversationCursor = (path: string) =>
  validationError([{ path, message: 'must be a cursor of this list, or the id of a conversation' }])

function parsePlace(text: string): ActivityPlace | undefined {
  const parsed = text.length > CURSOR_MAX_LENGTH ? undefined : parseJson(Buffer.from(text, 'base64url').toString())
  const [kind, activityUs, id]: unknown[] = Array.isArray(parsed) ? parsed : []
  if (kind !== KIND || !isWithin(activityUs, ACTIVITY_MAX_US) || !isWithin(id, Number.MAX_SAFE_INTEGER))
    return undefined
  return { activityUs, id }
}

const isWithin = (value: unknown, max: number): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= max

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
