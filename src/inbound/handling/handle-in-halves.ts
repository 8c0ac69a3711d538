import type { Db } from '../../db/connect.ts'
import type { LeftEvent } from '../event-store.ts'
import { type AfterCommit, type HandleDeps, handleItems } from './handle-items.ts'
import { isCausedByItem } from './item-error.ts'
import { leaveFrom, type Owned } from './open-event.ts'
import { savepoint } from './savepoint.ts'
import type { Unhandled } from './unhandled/keep-unhandled.ts'

/** Failed attempts before the remaining items wait for a later transaction. */
const MAX_FAILURES = 40

export type HandlingOutcome = {
  unhandled: Unhandled[]
  afterwards: AfterCommit[]
  left: LeftEvent[]
  failure?: unknown
}

/** Handles all items in one go; a single failure rolls back all. */
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

/** Handles all items, halving until a failing item is alone. @throws errors not caused by an item's data */
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
