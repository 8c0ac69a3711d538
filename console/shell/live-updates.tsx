import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { Conversation, Message } from '../api.ts'
import { showAnswering } from '../inbox/answering.ts'
import { applyConversation, applyMessage } from '../inbox/live-inbox.ts'
import { followLive, type LiveEvent, type LiveState } from '../live.ts'
import { announce } from '../parts/announcer.tsx'
import { invalidateSoon } from '../queries.ts'
import { createReread } from '../reread.ts'
import { sessionQuery } from '../session.ts'
import { text } from '../texts/text.ts'
import { useSession } from './session-context.ts'

const POLL_MS = 5_000

/** Follows the stream, puts its events into the cache, and polls while there is no stream. */
export function useLiveUpdates(): LiveState {
  const client = useQueryClient()
  const { name: me } = useSession()
  const [state, setState] = useState<LiveState>('connecting')
  useEffect(() => {
    const reread = createReread(() =>
      client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] }),
    )
    const take = ({ type, data }: LiveEvent) => {
      // An answer that is on its way may be older than the event, and would replace it.
      if (type === 'ready' || type === 'reset' || client.isFetching() > 0) reread()
      if (type === 'conversation') applyConversation(client, recordOf<Conversation>(data))
      if (type === 'message') takeMessage(recordOf(data))
      if (type === 'answering') takeAnswering(recordOf(data))
      if (type === 'delivery') invalidateSoon(client, ['deliveries'])
    }
    const takeMessage = ({ chatId, message }: { chatId: number; message: Message }) => {
      applyMessage(client, chatId, message)
      if (message.direction === 'inbound') announce(text.inbox.newMessage(message.senderName ?? '', message.text ?? ''))
    }
    const takeAnswering = ({ chatId, name }: { chatId: number; name: string }) => {
      if (name !== me) showAnswering(chatId, name)
    }
    return followLive({
      onEvent: take,
      onState: setState,
      onRefused: () => void client.invalidateQueries({ queryKey: sessionQuery.queryKey }),
    })
  }, [client, me])
  useEffect(() => {
    if (state !== 'down') return
    const timer = setInterval(() => client.invalidateQueries(), POLL_MS)
    return () => clearInterval(timer)
  }, [client, state])
  return state
}

/** The data of an event, of whose shape the service is sure. */
const recordOf = <Shape,>(data: unknown): Shape => Object(data)
