import type { Pool } from '../../db/connect.ts'
import { currentRequest, onBehalfOf } from '../../db/pool/fair-pool.ts'
import { createStatementBatcher } from '../../db/statement-batcher.ts'
import type { Batcher } from '../../fair/batch.ts'
import type { SlotRequest } from '../../fair/company-slots.ts'
import { SMALL_BATCH } from '../../people/matching/identity-lock.ts'

/** One group runs while the other waits for the disk. */
const GROUPS_AT_ONCE = 2
/** Maximum number of waiting writes per key; more are refused at once. */
const WAITING_MAX = 500

type Write<Item> = { readonly item: Item; readonly request: SlotRequest | undefined }
type Group<Item, Result> = { readonly add: Batcher<Write<Item>, Result>; count: number }

export function createGroups<Item, Result>() {
  const groupsOf = new WeakMap<Pool, Map<string, Group<Item, Result>>>()
  /**
   * Runs up to 25 waiting writes together, in at most two groups per key; `run` must do the same for each write of a
   * key. Throws 503 if 500 are waiting.
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

/** A group keeps its slot request while any caller waits, not only the first. */
function onBehalfOfAll<T>(writes: readonly Write<unknown>[], work: () => T): T {
  const requests = writes.flatMap(({ request }) => request ?? [])
  const [first] = requests
  if (first === undefined) return work()
  return onBehalfOf({ ...first, isAwaited: () => requests.some(({ isAwaited }) => isAwaited()) }, work)
}
