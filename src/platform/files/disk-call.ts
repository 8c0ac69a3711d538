import { bulkhead } from 'cockatiel'
import { storageCall } from './storage-failure.ts'

/** Half of the threads that Node has for disks, names and cryptography: a disk that hangs leaves the others to everyone else. */
const MAX_CALLS = 2

const calls = bulkhead(MAX_CALLS, Number.POSITIVE_INFINITY)

/** Makes a `storageCall` that takes a thread until the disk answers, whether or not anyone still waits for it. */
export const diskCall = <T>(start: () => Promise<T>, onLate?: (result: T) => unknown): Promise<T> =>
  storageCall((signal) => {
    const call = () => {
      signal.throwIfAborted()
      return start()
    }
    return calls.execute(call)
  }, onLate)
