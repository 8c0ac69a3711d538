import type { Static } from 'typebox'
import type { Pool } from '../../db/connect.ts'
import { parseBefore } from '../../http/paging/paging.ts'
import { listDeadLetters } from '../../inbound/handling/unhandled/dead-letter-filter-store.ts'
import { type DeadLetterState, findDeadLetter } from '../../inbound/handling/unhandled/dead-letter-store.ts'
import { retryAllFailed, retryAllUnroutable } from '../../inbound/handling/unhandled/requeue.ts'
import { eventNotFound } from '../../platform/errors.ts'
import { parseId } from '../../platform/ids.ts'
import type { OperatorDeps } from '../operator.ts'
import {
  EVENT_PAGE,
  type EventReply,
  type FailedRetryBody,
  toEventReply,
  type UnroutableRetryBody,
} from './event-shape.ts'

const STATES: Record<EventList, readonly DeadLetterState[]> = {
  unroutable: ['unroutable', 'unverified'],
  failed: ['failed', 'unreadable'],
  all: ['unroutable', 'unverified', 'failed', 'unreadable'],
}
export type EventList = 'unroutable' | 'failed' | 'all'

type Deps = { db: Pool }
export type RetriedList = Exclude<EventList, 'all'>
type RetryDeps = Pick<OperatorDeps, 'db' | 'events' | 'cipher' | 'onEventsStored'>

/** Lists a page, newest first, with 4 KiB of each body. */
export async function listEvents(
  { db }: Deps,
  list: EventList,
  query: { before?: unknown; limit?: unknown; reason?: string; phoneNumberId?: string },
): Promise<Static<typeof EventReply>[]> {
  const { reason, phoneNumberId } = query
  const filter = { states: STATES[list], reason, phoneNumberId }
  return (await listDeadLetters(db, filter, parseBefore(query, EVENT_PAGE))).map(toEventReply)
}

const STANDARD_LIMIT = 1_000

export type RetryBody = Static<typeof FailedRetryBody> | Static<typeof UnroutableRetryBody>

/** Retries matching events, oldest first; returns the number removed from the list. */
export async function retryEvents(deps: RetryDeps, list: RetriedList, body: RetryBody): Promise<number> {
  const { state, since, until, limit = STANDARD_LIMIT, ...same } = body
  const at = (text: string | undefined) => (text === undefined ? undefined : new Date(text))
  const states = state === undefined ? STATES[list] : [state]
  const request = { ...same, states, since: at(since), until: at(until), limit }
  const retry = list === 'failed' ? retryAllFailed : retryAllUnroutable
  return retry({ events: deps.events, decrypt: deps.cipher.decrypt }, deps.db, request, deps.onEventsStored)
}

/** Returns an event with its whole body; throws 404. */
export async function getEvent({ db }: Deps, list: EventList, text: string): Promise<Static<typeof EventReply>> {
  const id = parseId(text)
  const row = id === undefined ? undefined : await findDeadLetter(db, STATES[list], id)
  if (row === undefined) throw eventNotFound()
  return toEventReply(row)
}
