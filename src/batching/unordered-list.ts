/** What may be put into a bag: into one at a time, which keeps here where it is. */
export type UnorderedItem = { place?: number | undefined }

/** Things in no order. */
export type UnorderedList<Item extends UnorderedItem> = Iterable<Item> & {
  readonly size: number
  add(item: Item): void
  /** Answers whether it was there. */
  delete(item: Item): boolean
}

/**
 * A set for what comes and goes all the time. V8 renews the table of a `Set` again and again, and each table that it leaves
 * keeps what it held and knows the next: once one has grown old, all that was ever in the set grows old with it, and is
 * collected with great effort (src/batching/unordered-list.test.ts). While a bag is walked through, only the item at hand may be taken out.
 */
export function createUnorderedList<Item extends UnorderedItem>(): UnorderedList<Item> {
  const items: Item[] = []
  return {
    get size() {
      return items.length
    },
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
    // From the end: what takes the place of an item that is taken out has been seen.
    *[Symbol.iterator]() {
      for (let at = items.length - 1; at >= 0; at -= 1) {
        const item = items[at]
        if (item !== undefined) yield item
      }
    },
  }
}
