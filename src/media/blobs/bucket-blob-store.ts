import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import { StartError } from '../../start-error.ts'
import { writeMeasured } from '../measure.ts'
import { type BlobStore, isStorageKey, type Measured } from './blob-store.ts'
import { type BucketPlace, parseBucketUrl } from './bucket-url.ts'

const CONNECT_TIMEOUT_MS = 5_000
const SILENCE_TIMEOUT_MS = 30_000

/**
 * Keeps media in a bucket of an S3-compatible store (the address: see `parseBucketUrl`). The bucket has to exist.
 *
 * @throws StartError when it can't be used: the message says why and what to do, and holds no secret.
 */
export async function openBucketBlobStore(bucketUrl: string): Promise<BlobStore & { close(): void }> {
  const place = parseBucketUrl(bucketUrl)
  if (place === undefined) throw new StartError('MEDIA_BUCKET_URL is not https://KEY:SECRET@HOST/BUCKET?region=REGION')
  const client = createClient(place)
  const { bucket } = place
  await checkBucket(client, place)
  return {
    put: (key, body, { mimeType, maxBytes }) =>
      throughFile(body, maxBytes, async (path, measured) => {
        await client.send(
          new PutObjectCommand({
            Bucket: bucket,
            Key: named(key),
            Body: createReadStream(path),
            ContentLength: measured.sizeBytes,
            ContentType: mimeType,
          }),
        )
        return measured
      }),
    open: (key, range) => openObject(client, bucket, named(key), range && `bytes=${range.start}-${range.end}`),
    remove: async (key) => {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: named(key) }))
    },
    close: () => client.destroy(),
  }
}

/** Bucket names stand in the path, since most stores other than Amazon's have no name per bucket. */
const createClient = ({ endpoint, region, credentials }: BucketPlace): S3Client =>
  new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    ...(credentials && { credentials }),
    // Checksums beyond those that an operation needs are refused by many compatible stores.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECT_TIMEOUT_MS, socketTimeout: SILENCE_TIMEOUT_MS },
  })

async function checkBucket(client: S3Client, { bucket, endpoint }: BucketPlace): Promise<void> {
  try {
    await client.send(new HeadBucketCommand({ Bucket: bucket }))
  } catch (error) {
    client.destroy()
    const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
    if (status === 404) throw new StartError(`MEDIA_BUCKET_URL: ${endpoint} has no bucket ${bucket}: create it first`)
    if (status === 401 || status === 403)
      throw new StartError(
        `MEDIA_BUCKET_URL: ${endpoint} refuses its key or secret for the bucket ${bucket}: correct them`,
      )
    const reason = status === undefined ? 'does not answer' : `answers with status ${status}`
    throw new StartError(`MEDIA_BUCKET_URL: ${endpoint} ${reason}: is the address right, and its region?`)
  }
}

/** The store needs the size first, which the provider does not always send: the bytes wait in a file. */
async function throughFile(
  body: Readable,
  maxBytes: number,
  send: (path: string, measured: Measured) => Promise<Measured>,
): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), 'media-'))
  try {
    const path = join(folder, 'body')
    const measured = await writeMeasured(body, createWriteStream(path, { mode: 0o600 }), maxBytes)
    return await send(path, measured)
  } finally {
    body.destroy()
    await rm(folder, { recursive: true, force: true })
  }
}

async function openObject(
  client: S3Client,
  Bucket: string,
  Key: string,
  Range: string | undefined,
): Promise<Readable | undefined> {
  try {
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key, ...(Range && { Range }) }))
    if (Body instanceof Readable) return Body
    throw new Error('The bucket answered without a body')
  } catch (error) {
    if (error instanceof NoSuchKey) return undefined
    throw error
  }
}

function named(key: string): string {
  if (!isStorageKey(key)) throw new Error('This is no storage key')
  return key
}
