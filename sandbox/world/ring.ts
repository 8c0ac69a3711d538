/** Keeps the last `limit` items, without older ones: memory is bounded. */
export class Ring<Item> {
  readonly #limit: number
  readonly #slots: Item[] = []
  #next = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  add(item: Item): void {
    this.#slots[this.#next] = item
    this.#next = (this.#next + 1) % this.#limit
  }

  get size(): number {
    return this.#slots.length
  }

  /** The newest item that fits. It looks at each: adding must cost nothing, finding is rare. */
  find(fits: (item: Item) => boolean): Item | undefined {
    for (let back = 1; back <= this.size; back += 1) {
      const item = this.#fromNewest(back)
      if (item !== undefined && fits(item)) return item
    }
    return undefined
  }

  /** The newest `count` items, newest first. */
  newest(count: number): Item[] {
    const items: Item[] = []
    for (let back = 1; back <= Math.min(count, this.size); back += 1) {
      const item = this.#fromNewest(back)
      if (item !== undefined) items.push(item)
    }
    return items
  }

  #fromNewest(back: number): Item | undefined {
    return this.#slots[(this.#next - back + this.size) % this.size]
  }
}
