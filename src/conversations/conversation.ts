import type { Db } from '../db/connect.ts'
import { conversationNotFound } from '../platform/errors.ts'
import { parseId } from '../platform/ids.ts'
import { findConversation } from './conversation-store.ts'
import type { Conversation } from './list/conversation-list-store.ts'

/** The conversation that a path names; 404 when the company has none of this id. */
export async function getConversation(db: Db, companyId: number, chatId: string): Promise<Conversation> {
  const id = parseId(chatId)
  const conversation = id === undefined ? undefined : await findConversation(db, companyId, id)
  if (conversation === undefined) throw conversationNotFound()
  return conversation
}
