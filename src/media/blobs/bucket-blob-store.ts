import { createReadStream } from 'node:fs'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import { storageCall } from '../../platform/files/storage-failure.ts'
import { openTemporaryFiles } from '../../platform/files/temporary-files.ts'
import { NO_PROXIES, type Proxies, toProxyEnv } from '../../platform/outgoing/proxies.ts'
import { StartError } from '../../platform/start-error.ts'
import { keepMeasured } from '../measure.ts'
import { type BlobStore, isStorageKey } from './blob-store.ts'
import { bucketStream } from './bucket-stream.ts'

const CONNECT_TIMEOUT_MS = 5_000
const SILENCE_TIMEOUT_MS = 30_000
const MAX_CONNECTIONS = 50

/**
 * Opens an existing bucket at a `parseBucketUrl` address. Uploads wait in `temporaryFolder` because S3 needs the size
 * first.
 * @throws StartError when the bucket is unusable; the message must not contain secrets
 */
export async function openBucketBlobStore(
  bucketUrl: string,
  temporaryFolder: string,
  { setting = 'MEDIA_BUCKET_URL', proxies = NO_PROXIES }: { setting?: string; proxies?: Proxies } = {},
): Promise<BlobStore & { close(): void }> {
  const place = parseBucketUrl(bucketUrl)
  if (place === undefined) throw new StartError(`${setting} is not https://KEY:SECRET@HOST/BUCKET?region=REGION`)
  const client = createClient(place, proxies)
  const { bucket: Bucket } = place
  await checkBucket(client, place, setting)
  const temporary = await openTemporaryFiles(temporaryFolder)
  return {
    put: (key, body, meta) => {
      const target = { Bucket, Key: named(key), ContentType: meta.mimeType }
      return keepMeasured(temporary, body, meta, (path, { sizeBytes }) =>
        storageCall((abortSignal, moved) => {
          const Body = Readable.from(partsOf(path, moved), { objectMode: false })
          const object = { ...target, Body, ContentLength: sizeBytes }
          return client.send(new PutObjectCommand(object), { abortSignal })
        }),
      )
    },
    open: (key, range) => {
      const target = { Bucket, Key: named(key) }
      return bucketStream((start) => openObject(client, target, start, range?.end), range?.start)
    },
    has: (key) => {
      const command = new HeadObjectCommand({ Bucket, Key: named(key) })
      return storageCall((abortSignal) =>
        client.send(command, { abortSignal }).then(
          () => true,
          (error: unknown) => {
            if (statusOf(error) === 404) return false
            throw error
          },
        ),
      )
    },
    remove: async (key) => {
      const target = { Bucket, Key: named(key) }
      await storageCall((abortSignal) => client.send(new DeleteObjectCommand(target), { abortSignal }))
    },
    close: () => client.destroy(),
  }
}

const ignore = () => undefined
/** Keeps the client from writing to stderr; the service logs failures. */
const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore }

/** Uses path-style addresses because most compatible stores have no per-bucket hostname. */
function createClient({ endpoint, region, credentials }: BucketPlace, proxies: Proxies): S3Client {
  const connections = { keepAlive: true, maxSockets: MAX_CONNECTIONS, proxyEnv: toProxyEnv(proxies) }
  return new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    ...(credentials && { credentials }),
    // Many compatible stores reject optional checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    logger: SILENT,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SILENCE_TIMEOUT_MS,
      httpAgent: new HttpAgent(connections),
      httpsAgent: new HttpsAgent(connections),
    },
  })
}

async function checkBucket(client: S3Client, { bucket, endpoint }: BucketPlace, setting: string): Promise<void> {
  try {
    await client.send(new HeadBucketCommand({ Bucket: bucket }))
  } catch (error) {
    client.destroy()
    const status = statusOf(error)
    if (error instanceof Error && error.name === 'CredentialsProviderError')
      throw new StartError(
        `${setting} has no key, and neither the environment nor a role of this machine gives one: write KEY:SECRET@ before the host, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY`,
      )
    if (status === 404) throw new StartError(`${setting}: ${endpoint} has no bucket ${bucket}: create it first`)
    if (status === 401 || status === 403)
      throw new StartError(`${setting}: ${endpoint} refuses its key or secret for the bucket ${bucket}: correct them`)
    const reason = status === undefined ? 'does not answer' : `answers with status ${status}`
    throw new StartError(`${setting}: ${endpoint} ${reason}: is the address right, and its region?`)
  }
}

const statusOf = (error: unknown): number | undefined =>
  error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined

async function* partsOf(path: string, moved: () => void): AsyncGenerator<Buffer> {
  for await (const part of createReadStream(path)) {
    moved()
    yield part
  }
}

async function openObject(
  client: S3Client,
  target: { Bucket: string; Key: string },
  start: number,
  end?: number,
): Promise<Readable | undefined> {
  if (end !== undefined && start > end) return Readable.from([])
  const isWhole = start === 0 && end === undefined
  const command = new GetObjectCommand({ ...target, ...(!isWhole && { Range: `bytes=${start}-${end ?? ''}` }) })
  return storageCall(
    async (abortSignal) => {
      try {
        const { Body } = await client.send(command, { abortSignal })
        if (Body instanceof Readable) return Body
        throw new Error('The bucket returned no body')
      } catch (error) {
        if (error instanceof NoSuchKey) return undefined
        if (start > 0 && statusOf(error) === 416) return Readable.from([])
        throw error
      }
    },
    (late) => late?.destroy(),
  )
}

function named(key: string): string {
  if (!isStorageKey(key)) throw new Error('Not a storage key')
  return key
}

type BucketPlace = {
  endpoint: string
  bucket: string
  region: string
  /** Undefined: use credentials from the environment, such as an instance role. */
  credentials: { accessKeyId: string; secretAccessKey: string } | undefined
}

const DEFAULT_REGION = 'us-east-1'

/** Parses `https://KEY:SECRET@HOST[:PORT]/BUCKET[?region=REGION]`. Key and secret are percent-encoded. */
export function parseBucketUrl(text: string): BucketPlace | undefined {
  const url = URL.parse(text)
  if (url === null || !['https:', 'http:'].includes(url.protocol)) return undefined
  const bucket = /^\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/?$/.exec(url.pathname)?.[1]
  const accessKeyId = decode(url.username)
  const secretAccessKey = decode(url.password)
  if (bucket === undefined || accessKeyId === undefined || secretAccessKey === undefined) return undefined
  if ((accessKeyId === '') !== (secretAccessKey === '')) return undefined
  return {
    endpoint: url.origin,
    bucket,
    region: url.searchParams.get('region') || DEFAULT_REGION,
    credentials: accessKeyId === '' ? undefined : { accessKeyId, secretAccessKey },
  }
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
