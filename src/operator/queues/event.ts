import type { Static } from 'typebox'
import type { Pool } from '../../db/connect.ts'
import { eventNotFound } from '../../errors.ts'
import { parseBefore } from '../../http/paging/paging.ts'
import { parseId } from '../../ids.ts'
import {
  type DeadLetterState,
  findDeadLetter,
  listDeadLetters,
} from '../../inbound/handling/unhandled/dead-letter-store.ts'
import { EVENT_PAGE, type EventReply, toEventReply } from './event-shape.ts'

/** A list of the operator, and the states of the events in it. */
const STATES: Record<EventList, readonly DeadLetterState[]> = {
  unroutable: ['unroutable', 'unverified'],
  failed: ['failed', 'unreadable'],
  all: ['unroutable', 'unverified', 'failed', 'unreadable'],
}
export type EventList = 'unroutable' | 'failed' | 'all'

type Deps = { db: Pool }

/** A page of a list, newest first, with the first 4 KiB of each body. */
export async function listEvents(
  { db }: Deps,
  list: EventList,
  query: { before?: unknown; limit?: unknown },
): Promise<Static<typeof EventReply>[]> {
  return (await listDeadLetters(db, STATES[list], parseBefore(query, EVENT_PAGE))).map(toEventReply)
}

/** One event of a list with its whole body; 404 for every other id. */
export async function getEvent({ db }: Deps, list: EventList, text: string): Promise<Static<typeof EventReply>> {
  const id = parseId(text)
  const row = id === undefined ? undefined : await findDeadLetter(db, STATES[list], id)
  if (row === undefined) throw eventNotFound()
  return toEventReply(row)
}
