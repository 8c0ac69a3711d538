/** Keeps the last `limit` items by key, the oldest giving way: memory is bounded whatever arrives. */
export class Ring<Item> {
  readonly #limit: number
  readonly #keyOf: (item: Item) => string
  readonly #byKey = new Map<string, Item>()
  #slots: Item[] = []
  #next = 0

  constructor(limit: number, keyOf: (item: Item) => string) {
    this.#limit = limit
    this.#keyOf = keyOf
  }

  add(item: Item): void {
    const oldest = this.#slots[this.#next]
    if (oldest !== undefined) this.#byKey.delete(this.#keyOf(oldest))
    this.#slots[this.#next] = item
    this.#byKey.set(this.#keyOf(item), item)
    this.#next = (this.#next + 1) % this.#limit
  }

  find(key: string): Item | undefined {
    return this.#byKey.get(key)
  }

  get size(): number {
    return this.#slots.length
  }

  /** The newest `count` items, newest first. */
  newest(count: number): Item[] {
    const items: Item[] = []
    const size = this.#slots.length
    for (let back = 1; back <= Math.min(count, size); back += 1) {
      const item = this.#slots[(this.#next - back + size) % size]
      if (item !== undefined) items.push(item)
    }
    return items
  }
}
