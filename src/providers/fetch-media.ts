import type { Dispatcher } from 'undici'
import { exchange, readRetryAfter, USER_AGENT } from '../platform/outgoing/exchange.ts'
import { failure, readGraphError, readJsonObject, refusalOf, THROTTLE_SECONDS, text } from './graph-answer.ts'
import type { MediaOutcome } from './provider.ts'

type MediaRequest = {
  dispatcher: Dispatcher
  /** Address for the media description; must escape the media id. */
  address: string
  headers: Record<string, string>
  /** Returns undefined if the credential must not be sent there. */
  resolveDownload: (url: URL) => URL | undefined
  /** Limits the description request; `signal` limits the download. */
  timeoutMs: number
  waitSeconds?: number
}

type Description = {
  kind: 'described'
  url: URL
  mimeType: string | null
  sizeBytes: number | null
  sha256: string | null
}

const MISSING = new Set([100, 33])

/** Fetches media like Meta and partners. Retries once with a new address, since they expire after minutes. */
export async function fetchMedia(request: MediaRequest, signal: AbortSignal): Promise<MediaOutcome> {
  const first = await describeAndDownload(request, signal)
  const last = first === 'address-died' ? await describeAndDownload(request, signal) : first
  return last === 'address-died' ? failed('the address of the media died before it could be used') : last
}

async function describeAndDownload(request: MediaRequest, signal: AbortSignal): Promise<MediaOutcome | 'address-died'> {
  const media = await describe(request)
  if (media.kind !== 'described') return media
  const address = request.resolveDownload(media.url)
  if (address === undefined) return failed('the provider named an address that is not its own')
  return download(request, address, media, signal)
}

async function describe(request: MediaRequest): Promise<Description | MediaOutcome> {
  const { dispatcher, address, headers, timeoutMs, waitSeconds = THROTTLE_SECONDS } = request
  const answer = await exchange(dispatcher, { method: 'GET', url: address, headers, timeoutMs })
  if (answer.kind !== 'answered') return failed(answer.detail)
  const body = readJsonObject(answer.body)
  const error = body && readGraphError(body)
  const refusal = error && refusalOf(error, { ...answer, status: 400 })
  if (refusal?.kind === 'throttled') return { kind: 'throttled', retryAfterSeconds: refusal.retryAfterSeconds }
  if (answer.status === 429) return { kind: 'throttled', retryAfterSeconds: answer.retryAfterSeconds ?? waitSeconds }
  if (answer.status === 404 || (answer.status === 400 && MISSING.has(error?.code ?? 0))) return { kind: 'gone' }
  if (error) return { kind: 'failed', error }
  const media = answer.status < 300 ? body && readDescription(body) : undefined
  return media ?? failed(`HTTP ${answer.status} without a readable answer`)
}

/** The size may be text, the digest hex or base64. */
function readDescription(body: Record<string, unknown>): Description | undefined {
  const url = URL.parse(text(body.url) ?? '')
  if (url === null) return undefined
  const size = Number(text(body.file_size) ?? body.file_size ?? Number.NaN)
  return {
    kind: 'described',
    url,
    mimeType: text(body.mime_type),
    sizeBytes: Number.isSafeInteger(size) && size >= 0 ? size : null,
    sha256: readDigest(text(body.sha256) ?? ''),
  }
}

function readDigest(digest: string): string | null {
  if (/^[0-9a-f]{64}$/i.test(digest)) return digest.toLowerCase()
  return /^[A-Za-z0-9+/]{43}=$/.test(digest) ? Buffer.from(digest, 'base64').toString('hex') : null
}

/** Fetches media from a provider that returns only bytes. */
export async function openMedia(
  request: Pick<MediaRequest, 'dispatcher' | 'headers'>,
  address: URL,
  signal: AbortSignal,
): Promise<MediaOutcome> {
  const outcome = await download(request, address, { mimeType: null, sizeBytes: null, sha256: null }, signal)
  return outcome === 'address-died' ? { kind: 'gone' } : outcome
}

async function download(
  { dispatcher, headers }: Pick<MediaRequest, 'dispatcher' | 'headers'>,
  address: URL,
  { mimeType, sizeBytes, sha256 }: Pick<Description, 'mimeType' | 'sizeBytes' | 'sha256'>,
  signal: AbortSignal,
): Promise<MediaOutcome | 'address-died'> {
  try {
    const answer = await dispatcher.request({
      origin: address.origin,
      path: address.pathname + address.search,
      method: 'GET',
      headers: { 'user-agent': USER_AGENT, ...headers },
      signal,
    })
    // A stream that fails or is aborted before reading must not crash the process.
    answer.body.on('error', () => undefined)
    if (answer.statusCode === 200) {
      const type = mimeType ?? text(answer.headers['content-type'])
      const size = sizeBytes ?? readLength(answer.headers['content-length'])
      return { kind: 'fetched', mimeType: type, sizeBytes: size, sha256, body: answer.body }
    }
    answer.body.destroy()
    if (answer.statusCode === 404) return 'address-died'
    const wait = readRetryAfter(answer.headers['retry-after'])
    if (answer.statusCode === 429) return { kind: 'throttled', retryAfterSeconds: wait ?? THROTTLE_SECONDS }
    return failed(`HTTP ${answer.statusCode} for the bytes`)
  } catch (error) {
    return failed(error instanceof Error ? error.message : 'the bytes could not be fetched')
  }
}

const readLength = (header: string | string[] | undefined): number | null =>
  typeof header === 'string' && /^[0-9]{1,15}$/.test(header) ? Number(header) : null

const failed = (title: string): MediaOutcome => ({ kind: 'failed', error: failure(title) })
