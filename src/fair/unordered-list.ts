/** The list stores its index here, so an item can be in one list only. */
export type UnorderedItem = { place?: number | undefined }

export type UnorderedList<Item extends UnorderedItem> = Iterable<Item> & {
  readonly size: number
  has(item: Item): boolean
  add(item: Item): void
  delete(item: Item): boolean
}

/**
 * V8 keeps replacing a `Set`'s table; once one table is in the old generation, all later entries follow, where
 * collection is expensive (src/fair/unordered-list.test.ts). During iteration, only the current item can be deleted.
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
    // Backwards: the item that replaces a deleted one has been visited.
    *[Symbol.iterator]() {
      for (let at = items.length - 1; at >= 0; at -= 1) {
        const item = items[at]
        if (item !== undefined) yield item
      }
    },
  }
}
