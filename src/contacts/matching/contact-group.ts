import { type Batcher, createBatcher } from '../../batching/batch.ts'
import type { Pool } from '../../db/connect.ts'
import { SMALL_BATCH } from './identity-lock.ts'

/** One waits for the disk while the next is computed. */
const GROUPS_AT_ONCE = 2
/** Writes of one key that wait at most; more are refused at once. */
const WAITING_MAX = 500

type Group<Item, Result> = { readonly add: Batcher<Item, Result>; count: number }

/** Groups of writes that share a transaction. A group exists while it has writes. */
export function createGroups<Item, Result>() {
  const groupsOf = new WeakMap<Pool, Map<string, Group<Item, Result>>>()
  /**
   * Adds a write to those with the same key that wait: up to 25 run together, at once while fewer than two groups of the
   * key run. `run` has to do the same for every write of a key.
   * 503 when 500 wait.
   */
  return async (
    pool: Pool,
    key: string,
    item: Item,
    run: (items: readonly Item[]) => Promise<Result[]>,
  ): Promise<Result> => {
    const groups = groupsOf.get(pool) ?? new Map<string, Group<Item, Result>>()
    groupsOf.set(pool, groups)
    const group = groups.get(key) ?? { add: createGroupBatcher(run), count: 0 }
    groups.set(key, group)
    group.count += 1
    try {
      return await group.add(item)
    } finally {
      group.count -= 1
      if (group.count === 0) groups.delete(key)
    }
  }
}

const createGroupBatcher = <Item, Result>(run: (items: readonly Item[]) => Promise<Result[]>) =>
  createBatcher<Item, Result>({ run, maxItems: SMALL_BATCH, maxRunning: GROUPS_AT_ONCE, maxWaiting: WAITING_MAX })
