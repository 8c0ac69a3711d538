import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startForwardProxy } from '../../../test/forward-proxy.ts'
import { createTestFolder } from '../../../test/temporary-folder.ts'
import { newStorageKey } from './blob-store.ts'
import { blobStoreSuite } from './blob-store-suite.ts'
import { openBucketBlobStore, parseBucketUrl } from './bucket-blob-store.ts'

type S3Server = { run(): Promise<AddressInfo>; close(): Promise<void> }
type S3ServerClass = new (options: object) => S3Server

// The package has no types; the credentials are from its own tests.
const S3rver: S3ServerClass = createRequire(import.meta.url)('s3rver')
let store: S3Server
let place: string
let temporary: string
let blobStore: Awaited<ReturnType<typeof openBucketBlobStore>>

beforeAll(async () => {
  const directory = await createTestFolder()
  store = new S3rver({ port: 0, silent: true, directory, configureBuckets: [{ name: 'our-media', configs: [] }] })
  const { port } = await store.run()
  temporary = await createTestFolder()
  place = `127.0.0.1:${port}`
  blobStore = await openBucketBlobStore(`http://S3RVER:S3RVER@${place}/our-media`, temporary)
})
afterAll(async () => {
  blobStore.close()
  await store.close()
})

blobStoreSuite('a bucket', () => blobStore)

test('a bucket is reached through the proxy', async () => {
  const proxy = await startForwardProxy()
  const url = `http://S3RVER:S3RVER@${place.replace('127.0.0.1', '127.0.0.2')}/our-media`
  const proxied = await openBucketBlobStore(url, temporary, {
    proxies: { http: proxy.url, https: undefined, except: '' },
  })
  const key = newStorageKey(1)
  await proxied.put(key, Readable.from([Buffer.from('picture')]), { mimeType: 'image/png', maxBytes: 1000 })
  expect(proxy.passed.filter((line) => line.endsWith(`/our-media/${key}?x-id=PutObject`))).toHaveLength(1)
  expect(await blobStore.open(key)).toBeDefined()
  proxied.close()
})

describe('a bucket that cannot be used is reported at the start, without the secret', () => {
  const refusal = async (url: string): Promise<string> => {
    const error = await openBucketBlobStore(url, temporary).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(error).toMatchObject({ name: 'StartError' })
    return error instanceof Error ? `${error.message} ${error.stack} ${JSON.stringify(error)}` : ''
  }

  test('no such bucket', async () => {
    expect(await refusal(`http://S3RVER:S3RVER@${place}/another`)).toContain('has no bucket another: create it first')
  })

  test('a wrong key', async () => {
    const message = await refusal(`http://STRANGER:topsecret@${place}/our-media`)
    expect(message).toContain('refuses its key or secret')
    expect(message).not.toContain('topsecret')
  })

  test('no server there', async () => {
    const message = await refusal('http://KEY:topsecret@127.0.0.1:1/our-media')
    expect(message).toContain('http://127.0.0.1:1 does not answer')
    expect(message).not.toContain('topsecret')
  })

  test('another server there', async () => {
    const server = createServer((_request, response) => response.writeHead(418).end('<html>')).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    expect(await refusal(`http://KEY:SECRET@127.0.0.1:${port}/our-media`)).toContain('answers with status 418')
    server.close()
  })
})

test('a store that is down is not a file that is missing', async () => {
  const other = new S3rver({
    port: 0,
    silent: true,
    directory: await createTestFolder(),
    configureBuckets: [{ name: 'our-media', configs: [] }],
  })
  const { port } = await other.run()
  const lost = await openBucketBlobStore(`http://S3RVER:S3RVER@127.0.0.1:${port}/our-media`, temporary)
  expect(await lost.open(newStorageKey(1))).toBeUndefined()
  await other.close()
  await expect(lost.open(newStorageKey(1))).rejects.toThrow()
  lost.close()
})

describe('the address of a bucket', () => {
  test('key and secret may hold any sign, percent-encoded', () => {
    expect(parseBucketUrl('https://KEY:a%2Fb%2Bc%40@store.example:9000/media?region=eu-west-1')).toEqual({
      endpoint: 'https://store.example:9000',
      bucket: 'media',
      region: 'eu-west-1',
      credentials: { accessKeyId: 'KEY', secretAccessKey: 'a/b+c@' },
    })
  })

  test('without key and secret the machine has a role', () => {
    expect(parseBucketUrl('https://s3.eu-west-1.amazonaws.com/media/')).toMatchObject({
      bucket: 'media',
      region: 'us-east-1',
      credentials: undefined,
    })
  })

  test.each([
    'ftp://a:b@h/media',
    'https://a@h/media',
    'https://a:b@h',
    'https://a:b@h/x/y',
    'https://a:%ff@h/media',
    'media',
  ])('not %s', (url) => expect(parseBucketUrl(url)).toBeUndefined())
})
