import { setTimeout as wait } from 'node:timers/promises'
import type { Db } from '../../db/connect.ts'
import { createCache } from '../../platform/cache.ts'
import type { Clock } from '../../platform/clock.ts'
import { StorageFailure } from '../../platform/files/storage-failure.ts'
import { providerMessage } from '../../providers/graph-answer.ts'
import type { MediaOutcome, Providers, SenderAccess } from '../../providers/provider.ts'
import type { ProviderName } from '../../providers/provider-name.ts'
import { done, retryAt, type SingleKind } from '../../queue/job.ts'
import { enqueueJobs } from '../../queue/job-store.ts'
import { type BlobStore, type Measured, newStorageKey } from '../blobs/blob-store.ts'
import { safeMimeType } from '../content-headers.ts'
import { TooLarge } from '../measure.ts'
import {
  discardUnwanted,
  findMedia,
  insertMedia,
  type MediaRow,
  markLost,
  markStored,
  recordFailedCopy,
} from '../media-store.ts'
import { FILE_TYPES, type FileFacts, readFileFacts } from '../uploads/file-type.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

const PROVIDER_KEEPS_MS = 7 * 24 * HOUR
const WAITS_MS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR]
/** One provider blocks a number for an hour after more than five refused requests within an hour. */
const REFUSED_WAITS_MS = [5 * SECOND, MINUTE, 10 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR]

type CopyFailures = { failures: number; isRefused: boolean }

export const MAX_MEDIA_BYTES = 100 * 1024 * 1024
/** Covers request, download and storage. */
const COPY_DEADLINE_MS = 120_000

type MediaSender = SenderAccess & { readonly provider: ProviderName }

export type CopyDeps = {
  db: Db
  blobStore: BlobStore
  providers: Providers
  findSender: (companyId: number, senderId: number) => Promise<MediaSender | undefined>
  clock: Clock
}

/** `gone`: refused for as long as the provider keeps files. `failed`: given up. Both are final, like `stored`. */
type CopyOutcome = { kind: 'stored' } | { kind: 'retry'; at: Date } | { kind: 'gone' } | { kind: 'failed' }

/** Copies a message's media from the provider into the blob store. Can be called twice. */
export async function copyMedia(
  deps: CopyDeps,
  companyId: number,
  messageId: number,
  signal?: AbortSignal,
): Promise<CopyOutcome> {
  const media = await findMedia(deps.db, companyId, messageId)
  if (media === undefined) return { kind: 'gone' }
  if (media.state !== 'pending') return { kind: media.state }
  const copy = await tryCopy(deps, media, signal)
  return copy.kind === 'not-yet' ? postpone(deps, media, copy) : copy
}

export type Copy = { kind: 'stored' } | { kind: 'failed' } | NotYet
/** `isRefused`: the provider does not have the file. `cause`: the media storage error. */
type NotYet = { kind: 'not-yet'; error: string; retryAfterSeconds: number; isRefused: boolean; cause?: unknown }

/** Attempts one copy. Provider and blob store failures are values. */
async function tryCopy(deps: CopyDeps, media: MediaRow, signal?: AbortSignal): Promise<Copy> {
  const deadline = AbortSignal.timeout(COPY_DEADLINE_MS)
  const answer = await fetchFromProvider(deps, media, signal ? AbortSignal.any([signal, deadline]) : deadline)
  switch (answer.kind) {
    case 'fetched':
      return keep(deps, media, answer)
    case 'gone':
      return { ...notYet('the provider does not have it'), isRefused: true }
    case 'throttled':
      return notYet('the provider asked to wait', answer.retryAfterSeconds)
    case 'failed':
      return notYet(providerMessage(answer.error))
  }
}

const notYet = (error: string, retryAfterSeconds = 0): NotYet => ({
  kind: 'not-yet',
  error,
  retryAfterSeconds,
  isRefused: false,
})

async function fetchFromProvider(deps: CopyDeps, media: MediaRow, signal: AbortSignal): Promise<MediaOutcome> {
  const sender = await deps.findSender(media.companyId, media.senderId)
  const provider = sender && deps.providers[sender.provider]
  if (!sender || !provider) return { kind: 'failed', error: { code: null, title: 'not connected', details: null } }
  return provider.fetchMedia(sender, media.providerMediaId, signal)
}

async function keep(deps: CopyDeps, media: MediaRow, fetched: MediaOutcome & { kind: 'fetched' }): Promise<Copy> {
  const { db, blobStore } = deps
  const { companyId, messageId } = media
  try {
    if (fetched.sizeBytes !== null && fetched.sizeBytes > MAX_MEDIA_BYTES) throw new TooLarge(MAX_MEDIA_BYTES)
    const stored = await blobStore.put(media.storageKey, fetched.body, {
      mimeType: safeMimeType(fetched.mimeType ?? media.mimeType),
      maxBytes: MAX_MEDIA_BYTES,
      check: (path, measured) =>
        checkCopy(path, measured, { ...fetched, mimeType: media.mimeType ?? withoutPage(fetched.mimeType) }),
    })
    const isStored = await markStored(db, companyId, messageId, { ...stored, mimeType: fetched.mimeType })
    if (!isStored) await discardUnwanted(db, media)
    return { kind: 'stored' }
  } catch (error) {
    fetched.body.destroy()
    if (error instanceof NotTheFile) return notYet(error.message)
    if (!(error instanceof TooLarge)) return { ...notYet(`it could not be kept: ${reasonOf(error)}`), cause: error }
    await markLost(db, companyId, messageId, 'failed', error.message)
    return { kind: 'failed' }
  }
}

/** A `text/html` response must not become the file's type. */
const withoutPage = (mimeType: string | null): string | null =>
  safeMimeType(mimeType) === 'text/html' ? null : mimeType

class NotTheFile extends Error {}

async function checkCopy(path: string, measured: Measured, announced: Announced): Promise<void> {
  const fault = copyFault(announced, { ...measured, ...(await readFileFacts(path, measured.sizeBytes)) })
  if (fault !== undefined) throw new NotTheFile(fault)
}

async function postpone(
  deps: CopyDeps,
  media: MediaRow,
  { error, retryAfterSeconds, isRefused }: NotYet,
): Promise<CopyOutcome> {
  const { companyId, messageId, attempts, createdAt } = media
  const now = deps.clock.now()
  const next = nextCopyAt({ failures: attempts + 1, isRefused }, createdAt, now)
  if (next === undefined) {
    const kind = isRefused ? 'gone' : 'failed'
    await markLost(deps.db, companyId, messageId, kind, error)
    return { kind }
  }
  await recordFailedCopy(deps.db, companyId, messageId, error)
  const allowed = new Date(now.getTime() + retryAfterSeconds * 1_000)
  return { kind: 'retry', at: next > allowed ? next : allowed }
}

/** Returns only names and codes: a store's error message may repeat what was sent. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

/** Returns the next attempt: soon at first, then hourly, or every 12 h after refusals; undefined once the provider no longer keeps the file. */
export function nextCopyAt({ failures, isRefused }: CopyFailures, noted: Date, now: Date): Date | undefined {
  const waits = isRefused ? REFUSED_WAITS_MS : WAITS_MS
  const at = now.getTime() + (waits[failures - 1] ?? waits.at(-1) ?? HOUR)
  return at < noted.getTime() + PROVIDER_KEEPS_MS ? new Date(at) : undefined
}

export type Announced = { mimeType: string | null; sizeBytes: number | null; sha256: string | null }

/** Returns why the bytes don't match. A digest alone decides; without one, size and kind must match. */
export function copyFault(announced: Announced, file: Measured & FileFacts): string | undefined {
  if (announced.sha256 !== null) {
    return announced.sha256 === file.sha256 ? undefined : 'the bytes do not fit the digest'
  }
  if (announced.sizeBytes !== null && announced.sizeBytes !== file.sizeBytes) {
    return `${file.sizeBytes} bytes came instead of ${announced.sizeBytes}`
  }
  if (file.sizeBytes === 0) return 'no bytes came'
  if (isOfKind(safeMimeType(announced.mimeType), file)) return undefined
  return `the bytes are ${file.detected ?? (file.isText ? 'text' : 'of an unknown type')}, not ${announced.mimeType}`
}

const CONTAINERS: ReadonlySet<string> = new Set(['application/ogg', 'application/x-matroska'])

function isOfKind(mimeType: string, { detected, isText, isPage }: FileFacts): boolean {
  const [family] = mimeType.split('/')
  switch (family) {
    case 'image':
      return detected?.startsWith('image/') ?? false
    case 'audio':
    case 'video':
      return detected === undefined ? !isText : /^(audio|video)\//.test(detected) || CONTAINERS.has(detected)
    default:
      if (FILE_TYPES.has(mimeType) && mimeType !== 'text/plain') return detected !== undefined || !isText
      return !isPage || mimeType === 'text/html'
  }
}

/** How long a reader waits; the copy continues afterwards. */
const PATIENCE_MS = 10_000
/** At most one copy per file in this time, so that requests can't overload the provider. */
export const PAUSE_SECONDS = 15
const COPIES_HELD = 10_000

export type CopyOnDemand = (media: MediaRow) => Promise<void>

/** Copies requested media and resolves when the reader should look again. @throws {StorageFailure} */
export function createCopyOnDemand(deps: CopyDeps): CopyOnDemand {
  const copies = createCache<string, Promise<Copy>>({
    name: 'media_copies',
    max: COPIES_HELD,
    ttlMs: PAUSE_SECONDS * 1_000,
  })
  return async (media) => {
    const copy = copies.get(`${media.companyId} ${media.messageId}`, () => tryCopy(deps, media))
    const patience = new AbortController()
    const outOfPatience = wait(PATIENCE_MS, undefined, { signal: patience.signal }).catch(() => undefined)
    const outcome = await Promise.race([copy, outOfPatience]).finally(() => patience.abort())
    if (outcome?.kind === 'not-yet' && outcome.cause instanceof StorageFailure) throw outcome.cause
  }
}

export const MEDIA_COPY = 'media.copy'

/** Enqueues copy jobs for messages written earlier in this transaction. A slow number delays no other. */
export async function recordMedia(
  tx: Db,
  messages: readonly { companyId: number; messageId: number }[],
): Promise<void> {
  const media = messages.map((message) => ({ ...message, storageKey: newStorageKey(message.companyId) }))
  const noted = await insertMedia(tx, media)
  const jobs = noted.map(({ companyId, senderId, messageId }) => {
    const lane = `sender:${companyId}.${senderId}`
    return { kind: MEDIA_COPY, lane, companyId, subjectId: messageId, once: true }
  })
  if (jobs.length > 0) await enqueueJobs(tx, jobs)
}

export const copyKind = (deps: CopyDeps): SingleKind => ({
  kind: MEDIA_COPY,
  laneCap: 4,
  companyCap: 8,
  concurrency: 16,
  handle: async ({ companyId = 0, subjectId }, signal) => {
    const outcome = await copyMedia(deps, companyId, subjectId, signal)
    return outcome.kind === 'retry' ? retryAt(outcome.at) : done
  },
})
