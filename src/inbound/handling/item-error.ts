import { areValuesRefused } from '../../db/pool/failure.ts'

class ItemError extends Error {}

/** Wraps a pure function over one item: any error is the item's fault. */
export const ofItem =
  <Item, Result>(convert: (item: Item) => Result) =>
  (item: Item): Result => {
    try {
      return convert(item)
    } catch (error) {
      throw new ItemError(error instanceof Error ? error.message : 'it cannot be read', { cause: error })
    }
  }

/** Returns whether the item's data caused the error. Other items must be retried, not kept as failed. */
export const isCausedByItem = (error: unknown): boolean => error instanceof ItemError || areValuesRefused(error)
