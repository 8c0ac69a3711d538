import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import type { Conversation, Message } from '../../client/src/generated/schemas.ts'
import { showAnswering } from '../inbox/composer/answering.ts'
import { summaryOfMessage } from '../inbox/list/summary.ts'
import { applyConversation, applyMessage, placeWaiting, rereadScheduled } from '../inbox/live-inbox.ts'
import { followLive, type LiveEvent, type LiveState } from '../live/live.ts'
import { createReread } from '../live/reread.ts'
import { areNotificationsOn } from '../notifications/setting.ts'
import { announce } from '../parts/feedback/announcer.tsx'
import { invalidateSoon } from '../queries.ts'
import { sessionQuery } from '../session.ts'
import { text } from '../texts/text.ts'
import { useSession } from './session-context.ts'

const POLL_MS = 5_000
const MAX_HELD = 200

/** Follows the stream, puts its events into the cache, and polls while there is no stream. */
export function useLiveUpdates(): LiveState {
  const client = useQueryClient()
  const { name: me } = useSession()
  const navigate = useNavigate()
  const [state, setState] = useState<LiveState>('connecting')
  useEffect(() => {
    const reread = createReread(() => {
      placeWaiting(client)
      return client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] })
    })
    const rereadContacts = createReread(() => client.invalidateQueries({ queryKey: ['contacts'] }))
    const held = holdWhileFetching(client, reread)
    const take = (event: LiveEvent) => {
      const { type, data } = event
      if (type === 'ready' || type === 'reset') reread()
      if (type === 'conversation' || type === 'message') {
        apply(client, event)
        held.add(event)
      }
      if (type === 'message') announceMessage(recordOf(data))
      if (type === 'message' && areNotificationsOn()) void notifyOf(recordOf(data))
      if (type === 'answering') takeAnswering(recordOf(data))
      if (type === 'delivery') invalidateSoon(client, ['deliveries'])
      if (type === 'scheduled') rereadScheduled(client, recordOf<{ chatId: number }>(data).chatId)
      if (type === 'import') invalidateSoon(client, ['imports'])
      if (type === 'contact') {
        invalidateSoon(client, ['contact', recordOf<{ id: number }>(data).id])
        rereadContacts()
      }
    }
    const announceMessage = ({ message }: { message: Message }) => {
      if (message.direction === 'inbound')
        announce(text.inbox.newMessage(message.senderName ?? '', summaryOfMessage(message)))
    }
    const open = (chatId: number) => navigate({ to: '/inbox/{-$chatId}', params: { chatId: String(chatId) } })
    const notifyOf = async ({ chatId, message }: { chatId: number; message: Message }) => {
      const { notify } = await import('../notifications/notify.ts')
      await notify({ client, me, open }, chatId, message)
    }
    const takeAnswering = ({ chatId, name }: { chatId: number; name: string }) => {
      if (name !== me) showAnswering(chatId, name)
    }
    const stop = followLive({
      onEvent: take,
      onState: setState,
      onRefused: () => void client.invalidateQueries({ queryKey: sessionQuery.queryKey }),
    })
    return () => {
      stop()
      held.stop()
    }
  }, [client, me, navigate])
  useEffect(() => {
    if (state !== 'down') return
    const timer = setInterval(() => client.invalidateQueries(), POLL_MS)
    return () => clearInterval(timer)
  }, [client, state])
  return state
}

/** Puts a changed record into the cache; may be repeated. */
function apply(client: QueryClient, { type, data }: LiveEvent): void {
  if (type === 'conversation') applyConversation(client, recordOf<Conversation>(data))
  else {
    const { chatId, message } = recordOf<{ chatId: number; message: Message }>(data)
    applyMessage(client, chatId, message)
  }
}

/**
 * Events that come while answers are on their way: an answer may be older than the event, and would replace it. When the
 * last answer is there, they are applied once more; more than 200 are a reason to read again.
 */
function holdWhileFetching(client: QueryClient, reread: () => void) {
  let held: LiveEvent[] = []
  const flush = () => {
    if (held.length === 0 || client.isFetching() > 0) return
    const events = held
    held = []
    for (const event of events) apply(client, event)
  }
  const stop = client.getQueryCache().subscribe(flush)
  const add = (event: LiveEvent) => {
    if (client.isFetching() === 0) return
    if (held.length < MAX_HELD) held.push(event)
    else reread()
  }
  return { add, stop }
}

/** The data of an event, of whose shape the service is sure. */
const recordOf = <Shape,>(data: unknown): Shape => Object(data)
