/**
 * Options of an LRU cache that holds at most that many entries. Its option `max` allocates the places of all entries at once:
 * half a megabyte for 10,000 of them.
 */
export const maxEntries = (count: number): { maxSize: number; sizeCalculation: () => number } => ({
  maxSize: count,
  sizeCalculation: () => 1,
})
