import { bulkhead } from 'cockatiel'
import { storageCall } from './storage-failure.ts'

/** Half of Node's threads for disk, DNS and crypto: a hanging disk must leave the others free. */
const MAX_CALLS = 2

const calls = bulkhead(MAX_CALLS, Number.POSITIVE_INFINITY)

/** Makes a `storageCall` that occupies a thread until the disk answers, even if nobody waits. */
export const diskCall = <T>(start: () => Promise<T>, onLate?: (result: T) => unknown): Promise<T> =>
  storageCall((signal) => {
    const call = () => {
      signal.throwIfAborted()
      return start()
    }
    return calls.execute(call)
  }, onLate)
