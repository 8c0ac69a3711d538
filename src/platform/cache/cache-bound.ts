/** Bounds an LRU cache by entries. `max` would allocate all places at once: half a megabyte for 10,000. */
export const maxEntries = (count: number): { maxSize: number; sizeCalculation: () => number } => ({
  maxSize: count,
  sizeCalculation: () => 1,
})
