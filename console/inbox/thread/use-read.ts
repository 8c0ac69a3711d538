import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import type { Conversation, ConversationChange } from '../../../client/src/generated/schemas.ts'
import { api } from '../../client.ts'
import { settingsQuery } from '../settings-query.ts'

/** A conversation that is open in a visible window with the focus is read; the customer sees it, too, where the company wants that. */
export function useRead(record: Conversation, change: (body: ConversationChange) => void): void {
  const { chatId, unreadMessages, groupId, lastMessage } = record
  // As many may be unread after a message that came while the one before was marked.
  const newestId = lastMessage?.id
  const client = useQueryClient()
  const isLooking = useSyncExternalStore(subscribe, look)
  useEffect(() => {
    if (!isLooking || unreadMessages === 0 || newestId === undefined) return
    const markHere = () => change({ unreadMessages: 0 })
    if (groupId !== null) return markHere()
    // It is read here in any case, also when the provider does not take the mark.
    client
      .fetchQuery(settingsQuery)
      .then(async ({ readReceipts }) => {
        if (readReceipts) await api.markConversationRead({ chatId })
        else markHere()
      })
      .catch(markHere)
  }, [isLooking, unreadMessages, newestId, groupId, chatId, change, client])
}

const look = (): boolean => document.visibilityState === 'visible' && document.hasFocus()

function subscribe(listener: () => void): () => void {
  document.addEventListener('visibilitychange', listener)
  addEventListener('focus', listener)
  addEventListener('blur', listener)
  return () => {
    document.removeEventListener('visibilitychange', listener)
    removeEventListener('focus', listener)
    removeEventListener('blur', listener)
  }
}
