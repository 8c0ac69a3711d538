import type { Db } from '../../db/connect.ts'
import type { LeftEvent } from '../event-store.ts'
import { type AfterCommit, type HandleDeps, handleItems } from './handle-items.ts'
import { isCausedByItem } from './item-error.ts'
import { leaveFrom, type Owned } from './open-event.ts'
import { savepoint } from './savepoint.ts'
import type { Unhandled } from './unhandled/keep-unhandled.ts'

/** Failed attempts after which the rest of the items is left to a later transaction. */
const MAX_FAILURES = 40

export type HandlingOutcome = {
  unhandled: Unhandled[]
  /** Work of other modules after the commit. */
  afterwards: AfterCommit[]
  /** Events of which items are left. */
  left: LeftEvent[]
  /** Why numbers keep items that failed for another reason than their data. */
  failure?: unknown
}

/** All items in one go; when one of them fails, none is handled. */
export async function handleTogether(
  deps: HandleDeps,
  tx: Db,
  owned: readonly Owned[],
  at: Date,
): Promise<HandlingOutcome> {
  if (owned.length === 0) return { unhandled: [], afterwards: [], left: [] }
  const afterwards: AfterCommit[] = []
  const notHandled = await handleItems({ ...deps, afterwards }, tx, owned, at)
  const owners = new Map(owned.map((one) => [one.item, one]))
  const unhandled = notHandled.flatMap(({ item, state, reason }) => {
    const owner = owners.get(item)
    return owner === undefined ? [] : [{ ...owner, state, reason }]
  })
  return { unhandled, afterwards, left: [] }
}

/**
 * All items in one go; if their data is the cause of a failure, one half after the other, so that an item that fails does so
 * alone.
 *
 * @throws every other error
 */
export async function handleInHalves(
  deps: HandleDeps,
  tx: Db,
  owned: readonly Owned[],
  at: Date,
): Promise<HandlingOutcome> {
  const unhandled: Unhandled[] = []
  const afterwards: AfterCommit[] = []
  const left: Owned[] = []
  let failures = 0

  const handle = async (items: readonly Owned[]): Promise<void> => {
    const [first] = items
    if (first === undefined) return
    if (failures === MAX_FAILURES) {
      left.push(...items)
      return
    }
    try {
      const outcome = await savepoint(tx, (inner) => handleTogether(deps, inner, items, at))
      unhandled.push(...outcome.unhandled)
      afterwards.push(...outcome.afterwards)
    } catch (error) {
      if (!isCausedByItem(error)) throw error
      failures += 1
      if (items.length === 1) {
        unhandled.push({ ...first, state: 'failed', reason: reasonOf(error) })
        return
      }
      const half = Math.ceil(items.length / 2)
      await handle(items.slice(0, half))
      await handle(items.slice(half))
    }
  }
  await handle(owned)
  return { unhandled, afterwards, left: leaveFrom(left) }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : 'refused by the database')
