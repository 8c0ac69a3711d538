import { areValuesRefused } from '../../db/pool/failure.ts'

/** An item can never be handled by this version, whatever the database holds. */
class ItemError extends Error {}

/** Wraps a function of one item alone: what it throws is caused by the item. */
export const ofItem =
  <Item, Result>(convert: (item: Item) => Result) =>
  (item: Item): Result => {
    try {
      return convert(item)
    } catch (error) {
      throw new ItemError(error instanceof Error ? error.message : 'it cannot be read', { cause: error })
    }
  }

/** Whether the data of an item caused an error. Only such an item may be kept as failed; every other one waits. */
export const isCausedByItem = (error: unknown): boolean => error instanceof ItemError || areValuesRefused(error)
