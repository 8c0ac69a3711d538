import { useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Conversation } from '../../../client/src/generated/schemas.ts'
import { api } from '../../client.ts'
import { settingsQuery } from '../settings-query.ts'

const ANSWERING_EVERY_MS = 3_000
/** The customer sees it for 25 s. */
const TYPING_EVERY_MS = 20_000

/** Shows that this agent is answering: to the other agents, and to the customer where the company wants that. */
export function useAnsweringSignals({ chatId, groupId }: Conversation) {
  const client = useQueryClient()
  return useMemo(() => {
    // Hints to others: when one is lost, nothing is.
    const showAgents = atMostEvery(ANSWERING_EVERY_MS, () => api.showAnswering({ chatId }).catch(() => {}))
    const showCustomer = atMostEvery(TYPING_EVERY_MS, () =>
      client
        .fetchQuery(settingsQuery)
        .then(({ readReceipts }) => (readReceipts ? api.showTyping({ chatId }) : undefined))
        .catch(() => {}),
    )
    return {
      typed: (text: string) => {
        showAgents.act()
        if (text.trim() !== '' && groupId === null) showCustomer.act()
      },
      /** A message ends what the customer sees: the next one begins anew. */
      sent: showCustomer.reset,
    }
  }, [chatId, groupId, client])
}

function atMostEvery(ms: number, act: () => unknown) {
  let nextAt = 0
  return {
    act: () => {
      const now = performance.now()
      if (now < nextAt) return
      nextAt = now + ms
      act()
    },
    reset: () => {
      nextAt = 0
    },
  }
}
