import type { Db } from '../db/connect.ts'
import { conversationNotFound } from '../platform/errors.ts'
import { parseId } from '../platform/ids.ts'
import { findConversation } from './conversation-store.ts'
import type { Conversation } from './list/conversation-list-store.ts'

/** Returns a conversation by its path id, or throws 404. */
export async function getConversation(db: Db, companyId: number, chatId: string): Promise<Conversation> {
  const id = parseId(chatId)
  const conversation = id === undefined ? undefined : await findConversation(db, companyId, id)
  if (conversation === undefined) throw conversationNotFound()
  return conversation
}
