import { Readable } from 'node:stream'
import { fileGone, storageCall } from '../../platform/files/storage-failure.ts'

/** Opens an object from a byte on; undefined when it does not exist. */
type OpenAt = (start: number) => Promise<Readable | undefined>

/** A body whose reader wants nothing for this long gives its connection to the bucket back. */
const REST_MS = 1_000

/** Bodies of which nothing is wanted, and since when; one timer closes them. */
const resting = new Map<() => void, number>()
let timer: NodeJS.Timeout | undefined

/**
 * Returns the bytes of an object from `start` on, once the first have come; undefined when it does not exist. While its reader wants
 * none, it holds no connection: it opens the object again at the byte where it left. Fails when the bucket fails or is silent for 7 s.
 */
export async function bucketStream(openAt: OpenAt, start = 0, restMs = REST_MS): Promise<Readable | undefined> {
  let at = start
  let body: { source: Readable; chunks: AsyncIterator<Buffer> } | undefined
  const close = (): void => {
    resting.delete(close)
    body?.source.destroy()
    body = undefined
  }
  const open = async () => {
    const source = await openAt(at)
    source?.on('error', () => undefined)
    body = source && { source, chunks: source.iterator() }
    return body
  }
  const next = async (): Promise<Buffer | undefined> => {
    resting.delete(close)
    const { chunks } = body ?? (await open()) ?? { chunks: undefined }
    if (chunks === undefined) throw fileGone()
    const { done, value } = await storageCall(() => chunks.next())
    if (done === true) return undefined
    at += value.length
    rest(close, restMs)
    return value
  }
  if ((await open()) === undefined) return undefined
  const first = await next().catch((error: unknown) => {
    close()
    throw error
  })
  async function* all() {
    for (let chunk = first; chunk !== undefined; chunk = await next()) yield chunk
  }
  return Readable.from(all(), { objectMode: false }).once('close', close)
}

function rest(close: () => void, restMs: number): void {
  resting.set(close, performance.now() + restMs)
  timer ??= setInterval(closeRested, restMs).unref()
}

function closeRested(): void {
  for (const [close, endsAtMs] of resting) if (performance.now() >= endsAtMs) close()
  if (resting.size > 0) return
  clearInterval(timer)
  timer = undefined
}
