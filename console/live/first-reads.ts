/** How long the first reads wait for the stream at most: a proxy may hold its beginning back. */
const MAX_WAIT_MS = 2_000

const { promise: mayBegin, resolve: begin } = Promise.withResolvers<void>()
let hasRead = false

/**
 * Waits with the first reads of the page until the stream has begun: what is read from then on misses no event, so nothing
 * is read twice.
 */
export async function untilLive(): Promise<void> {
  if (hasRead) return
  setTimeout(begin, MAX_WAIT_MS)
  await mayBegin
  hasRead = true
}

/** Lets the first reads start: the stream has begun, or was refused. */
export const beginReads = (): void => begin()

/** Whether something was read, which may have missed events of a stream that begins now. */
export const hasReadAnything = (): boolean => hasRead
