import { BeyondBounds, NESTING_LIMIT } from './bounds.ts'
import type { InboundItem, Placed, Route } from './event-item.ts'

export const TOO_DEEP = `more than ${NESTING_LIMIT} levels`

export const NOWHERE: Route = { by: 'nothing' }

/** An id that is beyond its bound must not reach the database, nor may others of the same item then decide. */
export const placeNowhere = (placed: Placed): Placed => ({ ...placed, route: NOWHERE })

/** The place of a body that is one item. */
export const placeWhole = (text: string): Placed => ({
  key: 'body',
  position: { group: 'body', index: 0 },
  field: null,
  route: NOWHERE,
  timestamp: null,
  raw: () => text,
})

/** An item in the place of what cannot be read. It is stored with the reason, and its siblings are handled. */
export const unreadable = (placed: Placed, reason: string): InboundItem => ({
  ...placed,
  kind: 'unreadable-item',
  reason,
})

/** The items of `read`, or one unreadable item in their place. */
export function guarded<Read>(place: () => Placed, read: () => Read): Read | InboundItem[] {
  try {
    return read()
  } catch (error) {
    if (error instanceof BeyondBounds) return [unreadable(placeNowhere(place()), error.message)]
    return [unreadable(place(), 'its members could not be read')]
  }
}
