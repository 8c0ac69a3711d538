import { BeyondBounds, NESTING_LIMIT } from './bounds.ts'
import type { InboundItem, Placed, Route } from './event-item.ts'

export const TOO_DEEP = `more than ${NESTING_LIMIT} levels`

export const NOWHERE: Route = { by: 'nothing' }

/** Removes the route: an oversized id must not reach the database or leave the choice to other ids. */
export const placeNowhere = (placed: Placed): Placed => ({ ...placed, route: NOWHERE })

/** Places a whole body as one item. */
export const placeWhole = (text: string): Placed => ({
  key: 'body',
  position: { group: 'body', index: 0 },
  field: null,
  route: NOWHERE,
  timestamp: null,
  raw: () => text,
})

/** Stands in for an unreadable element, stored with the reason. */
export const unreadable = (placed: Placed, reason: string): InboundItem => ({
  ...placed,
  kind: 'unreadable-item',
  reason,
})

/** Returns what `read` returns, or one unreadable item. */
export function guarded<Read>(place: () => Placed, read: () => Read): Read | InboundItem[] {
  try {
    return read()
  } catch (error) {
    if (error instanceof BeyondBounds) return [unreadable(placeNowhere(place()), error.message)]
    return [unreadable(place(), 'its members could not be read')]
  }
}
