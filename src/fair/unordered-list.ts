/** An item of an unordered list. It can be in one list at a time, which stores its index here. */
export type UnorderedItem = { place?: number | undefined }

/** A list without an order. */
export type UnorderedList<Item extends UnorderedItem> = Iterable<Item> & {
  readonly size: number
  has(item: Item): boolean
  add(item: Item): void
  /** Answers whether it was there. */
  delete(item: Item): boolean
}

/**
 * A set for items that come and go all the time. V8 replaces the table of a `Set` again and again, and each old table
 * keeps its entries and a reference to the next one. Once a table is in the old generation, all later entries follow it
 * there, where collecting them is expensive (src/fair/unordered-list.test.ts). During an iteration, only the
 * current item may be deleted.
 */
export function createUnorderedList<Item extends UnorderedItem>(): UnorderedList<Item> {
  const items: Item[] = []
  return {
    get size() {
      return items.length
    },
    has: (item) => item.place !== undefined && items[item.place] === item,
    add: (item) => {
      item.place = items.push(item) - 1
    },
    delete: (item) => {
      const { place } = item
      const last = items.at(-1)
      if (place === undefined || last === undefined || items[place] !== item) return false
      items[place] = last
      last.place = place
      items.pop()
      item.place = undefined
      return true
    },
    // From the end: the item that replaces a deleted one has been visited.
    *[Symbol.iterator]() {
      for (let at = items.length - 1; at >= 0; at -= 1) {
        const item = items[at]
        if (item !== undefined) yield item
      }
    },
  }
}
