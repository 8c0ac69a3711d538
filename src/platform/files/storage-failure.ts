import { takesNoFiles } from './writable-folder.ts'

/** The media storage, a folder or a bucket, failed, refused or did not answer. `code` is that of the cause. */
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

/** The failure of a file that was deleted while it was read. */
export const fileGone = (): StorageFailure => new StorageFailure(new Error(GONE))
export const isFileGone = (error: unknown): boolean => error instanceof StorageFailure && error.code === GONE

/** Longest silence of the media storage: a caller gets an answer within 10 s. */
const PATIENCE_MS = 7_000

/**
 * Makes one call of the media storage. Fails after 7 s without a result or a call of `moved`; the signal then ends the call. A
 * result after that is passed to `onLate`.
 *
 * @throws {StorageFailure} and, as it is, the error of a disk that is full or read-only
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

/** Codes and names only, where there are any: messages of a storage may repeat what was sent to it. */
function nameOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown'
  if ('code' in cause && typeof cause.code === 'string') return cause.code
  return cause.name === 'Error' ? cause.message : cause.name
}
