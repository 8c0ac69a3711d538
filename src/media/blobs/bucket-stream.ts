import { Readable } from 'node:stream'
import { fileGone, storageCall } from '../../platform/files/storage-failure.ts'

type OpenAt = (start: number) => Promise<Readable | undefined>

/** An idle reader releases its bucket connection after this time. */
const REST_MS = 1_000

const resting = new Map<() => void, number>()
let timer: NodeJS.Timeout | undefined

/**
 * Streams an object from `start` once the first bytes arrive; undefined if not found. Idle readers hold no connection:
 * reading resumes with a new request. Fails if the bucket fails or stays silent for 7 s.
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
