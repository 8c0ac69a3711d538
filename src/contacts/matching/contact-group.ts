import type { Pool } from '../../db/connect.ts'
import { currentRequest, onBehalfOf } from '../../db/pool/fair-pool.ts'
import { createStatementBatcher } from '../../db/statement-batcher.ts'
import type { Batcher } from '../../fair/batch.ts'
import type { SlotRequest } from '../../fair/slot-queue.ts'
import { SMALL_BATCH } from '../../people/matching/identity-lock.ts'

/** The statements of one group run while the other waits for the disk. */
const GROUPS_AT_ONCE = 2
/** Writes of one key that wait at most; more are refused at once. */
const WAITING_MAX = 500

type Write<Item> = { readonly item: Item; readonly request: SlotRequest | undefined }
type Group<Item, Result> = { readonly add: Batcher<Write<Item>, Result>; count: number }

/** Groups of writes that share a transaction. A group exists while it has writes. */
export function createGroups<Item, Result>() {
  const groupsOf = new WeakMap<Pool, Map<string, Group<Item, Result>>>()
  /**
   * Adds a write to those with the same key that wait: up to 25 run together, at once while fewer than two groups of the
   * key run. `run` has to do the same for every write of a key. 503 when 500 wait.
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
      return await group.add({ item, request: currentRequest() })
    } finally {
      group.count -= 1
      if (group.count === 0) groups.delete(key)
    }
  }
}

const createGroupBatcher = <Item, Result>(run: (items: readonly Item[]) => Promise<Result[]>) =>
  createStatementBatcher<Write<Item>, Result>({
    run: (writes) => onBehalfOfAll(writes, () => run(writes.map(({ item }) => item))),
    maxItems: SMALL_BATCH,
    maxRunning: GROUPS_AT_ONCE,
    maxWaiting: WAITING_MAX,
  })

/** A group waits for its slot as long as one of its callers waits, and not only the one whose write started it. */
function onBehalfOfAll<T>(writes: readonly Write<unknown>[], work: () => T): T {
  const requests = writes.flatMap(({ request }) => request ?? [])
  const [first] = requests
  if (first === undefined) return work()
  return onBehalfOf({ ...first, isAwaited: () => requests.some(({ isAwaited }) => isAwaited()) }, work)
}
