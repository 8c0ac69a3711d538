import { randomBytes } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { statfs } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { newStorageKey } from '../../media/blobs/blob-store.ts'
import { openBlobStore } from '../../media/blobs/open-blob-store.ts'
import { makeWritableFolder } from '../../platform/files/writable-folder.ts'
import type { Config } from '../../platform/settings/config.ts'
import { codeOf, messageOf } from '../../platform/start-error.ts'
import { verifyMailServer } from '../../wiring/adapters.ts'
import { type Finding, finding, skipped } from './finding.ts'

const GIBIBYTE = 1024 ** 3
const TIMEOUT_MS = 5_000

/** Warns below 1 GiB free. Throws when the data folder can't be created or written. */
export async function checkDisk(dataDir: string): Promise<Finding[]> {
  const path = resolve(dataDir)
  await makeWritableFolder(path)
  const { bavail, bsize } = await statfs(path)
  const free = (bavail * bsize) / GIBIBYTE
  const message = `${free.toFixed(1)} GiB are free in ${path}`
  return [
    free < 1 ? finding('disk', `${message}: make room for media and the database`, 'warn') : finding('disk', message),
  ]
}

/** Sends a PING, with a 5 s limit. Throws an error with `REDIS_URL` and the remedy. */
export async function checkRedis(url: string): Promise<Finding[]> {
  const { Redis } = await import('ioredis')
  const redis = new Redis(url, { lazyConnect: true, connectTimeout: TIMEOUT_MS, retryStrategy: () => null })
  let reason = ''
  redis.on('error', (error) => {
    reason = messageOf(error)
  })
  try {
    await redis.connect()
    await redis.ping()
    return [finding('redis', 'answers')]
  } catch (error) {
    throw new Error(`REDIS_URL cannot be used (${reason || messageOf(error)}): start Redis, or correct REDIS_URL`, {
      cause: error,
    })
  } finally {
    redis.disconnect()
  }
}

export async function checkBucket(config: Config): Promise<Finding[]> {
  const { blobStore, stop } = await openBlobStore(config)
  const key = newStorageKey(1)
  const bytes = randomBytes(16)
  try {
    await blobStore.put(key, Readable.from([bytes]), { mimeType: 'application/octet-stream', maxBytes: bytes.length })
    const read = await blobStore.open(key)
    const isSame = read !== undefined && bytes.equals(Buffer.concat(await read.toArray()))
    await blobStore.remove(key)
    return [
      isSame
        ? finding('bucket', 'stores, reads and removes')
        : finding('bucket', 'returns other bytes than were stored', 'fail'),
    ]
  } catch (error) {
    throw new Error(`MEDIA_BUCKET_URL cannot be used (${messageOf(error)}): correct it, or the rights of its key`, {
      cause: error,
    })
  } finally {
    await stop()
  }
}

/** Logs in without sending, with a 5 s limit. Throws an error with `SMTP_URL` and the remedy. */
export async function checkMailServer(url: string): Promise<Finding[]> {
  if (!/^smtps?:/.test(url)) return [skipped('mail server', 'it is no SMTP server')]
  try {
    await verifyMailServer(url, TIMEOUT_MS)
    return [finding('mail server', 'answers and accepts the login')]
  } catch (error) {
    throw new Error(
      `SMTP_URL cannot be used (${messageOf(error)}): correct SMTP_URL, or name a private CA in NODE_EXTRA_CA_CERTS`,
      { cause: error },
    )
  }
}

/** Resolves the host in BASE_URL. Throws an error with the remedy when DNS does not know it. */
export async function checkName(hostname: string): Promise<Finding[]> {
  const { address } = await lookup(hostname).catch((error) => {
    throw new Error(
      `${hostname} of BASE_URL is not known to DNS (${codeOf(error)}): add its record, or correct BASE_URL`,
    )
  })
  return [finding('dns', `${hostname} is ${address}`)]
}

/** Verifies the webhook as a provider does. May succeed inside a network but fail from outside. */
export async function checkWebhook({ baseUrl, whatsappVerifyToken }: Config): Promise<Finding[]> {
  if (whatsappVerifyToken === undefined) {
    return [finding('webhook', 'WHATSAPP_VERIFY_TOKEN is not set: no provider can register the webhook', 'warn')]
  }
  const challenge = randomBytes(8).toString('hex')
  const query = new URLSearchParams({
    'hub.mode': 'subscribe',
    'hub.verify_token': whatsappVerifyToken,
    'hub.challenge': challenge,
  })
  const address = `${baseUrl}/public/v1/webhooks/whatsapp`
  const answer = await fetch(`${address}?${query}`, {
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error) => {
    const cause = error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : messageOf(error)
    throw new Error(
      `${address} cannot be reached from here (${cause}): start the service and its proxy, or correct BASE_URL`,
    )
  })
  if (answer.ok && (await answer.text()) === challenge)
    return [finding('webhook', `${address} answers a provider's check`)]
  throw new Error(
    `${address} answers ${answer.status} to a provider's check: is BASE_URL this service, and is its proxy in TRUST_PROXY?`,
  )
}
