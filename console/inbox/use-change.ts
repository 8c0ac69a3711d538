import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { Conversation, ConversationChange } from '../../client/src/generated/schemas.ts'
import { api } from '../client.ts'
import { applyConversation } from './live-inbox.ts'

/** Changes the conversation, and shows the answer everywhere. */
export function useChange({ chatId }: Conversation) {
  const client = useQueryClient()
  const { mutate, error } = useMutation({
    mutationFn: async (body: ConversationChange) => (await api.updateConversation({ chatId }, body)).data,
    onSuccess: (record) => applyConversation(client, record),
  })
  return { change: mutate, error }
}
