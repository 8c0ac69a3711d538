import { bulkhead } from 'cockatiel'
import { takesNoFiles } from './writable-folder.ts'

/** The media storage (folder or bucket) failed, refused or did not answer. `code` is the cause's. */
export class StorageFailure extends Error {
  readonly code: string

  constructor(cause: unknown) {
    const reason = nameOf(cause)
    super(`The media storage failed: ${reason}`, { cause })
    this.name = 'StorageFailure'
    this.code = reason
  }
}

const GONE = 'the file is gone'

export const fileGone = (): StorageFailure => new StorageFailure(new Error(GONE))
export const isFileGone = (error: unknown): boolean => error instanceof StorageFailure && error.code === GONE

/** Leaves a caller an answer within 10 s. */
const PATIENCE_MS = 7_000

/**
 * Aborts after 7 s without a result or a call of `moved`; passes a later result to `onLate`. Throws StorageFailure, or
 * the original error of a full or read-only disk.
 */
export async function storageCall<T>(
  start: (signal: AbortSignal, moved: () => void) => Promise<T>,
  onLate: (result: T) => unknown = () => {},
): Promise<T> {
  const silence = new AbortController()
  const { promise: noAnswer, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    reject(new Error('no answer'))
    silence.abort()
  }, PATIENCE_MS)
  const moved = () => {
    if (!silence.signal.aborted) timer.refresh()
  }
  const call = start(silence.signal, moved).then((result) => {
    if (silence.signal.aborted) onLate(result)
    return result
  })
  try {
    return await Promise.race([call, noAnswer])
  } catch (error) {
    throw takesNoFiles(error) ? error : new StorageFailure(error)
  } finally {
    clearTimeout(timer)
  }
}

/** Codes and names only: storage messages may repeat what was sent. */
function nameOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown'
  if ('code' in cause && typeof cause.code === 'string') return cause.code
  return cause.name === 'Error' ? cause.message : cause.name
}

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
