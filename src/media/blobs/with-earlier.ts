import type { BlobStore } from './blob-store.ts'

/** Writes to the current place; reads and deletes in both, so that files stay readable until copied. */
export const withEarlier = (current: BlobStore, earlier: BlobStore): BlobStore => ({
  put: (key, body, meta) => current.put(key, body, meta),
  open: async (key, range) => (await current.open(key, range)) ?? (await earlier.open(key, range)),
  has: async (key) => (await current.has(key)) || (await earlier.has(key)),
  remove: async (key) => {
    await Promise.all([current.remove(key), earlier.remove(key)])
  },
})
