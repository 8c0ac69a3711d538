import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../../../sandbox/sandbox.ts'
import { NUMBER } from '../../../sandbox/test/client.ts'
import { createTestDatabase } from '../../../test/database.ts'
import { createMediaMessage } from '../../../test/sends/media-world.ts'
import { createTestFolder } from '../../../test/temporary-folder.ts'
import { createCompany } from '../../../test/world.ts'
import { fixedClock } from '../../platform/clock.ts'
import { createProviderAgent } from '../../platform/outgoing/exchange.ts'
import { createMetaProvider } from '../../providers/meta/meta.ts'
import { openFolderBlobStore } from '../blobs/folder-blob-store.ts'
import { findMedia } from '../media-store.ts'
import { recordMedia } from './copy-job.ts'
import { type CopyDeps, copyMedia, MAX_MEDIA_BYTES } from './copy-media.ts'

const { db } = await createTestDatabase({ mirrors: true })
const folder = await createTestFolder()
const dispatcher = createProviderAgent()
const clock = fixedClock(new Date())
const BYTES = Buffer.from('a picture')
const SHA256 = createHash('sha256').update(BYTES).digest('hex')

let sandbox: Sandbox
let deps: CopyDeps
let apiBaseUrl: string

beforeAll(async () => {
  sandbox = await startSandbox()
  apiBaseUrl = sandbox.url
  deps = {
    db,
    clock,
    blobStore: await openFolderBlobStore(folder),
    providers: { meta: createMetaProvider({ dispatcher, graphVersion: 'v25.0', timeoutMs: 60_000 }) },
    findSender: async () => ({
      provider: 'meta',
      phoneNumberId: NUMBER,
      wabaAccountId: 'W',
      accessToken: 'token',
      apiBaseUrl,
      appId: null,
    }),
  }
})
afterAll(async () => {
  await sandbox.stop()
  await dispatcher.destroy()
})

async function upload(bytes: Buffer = BYTES, type = 'image/png'): Promise<string> {
  const headers = { authorization: 'Bearer token', 'content-type': type }
  const answer = await fetch(`${sandbox.url}/v25.0/${NUMBER}/media`, {
    method: 'POST',
    headers,
    body: new Uint8Array(bytes),
  })
  const { id } = (await answer.json()) as { id: string }
  return id
}

const jobsOf = (companyId: number) =>
  db`select kind, lane, subject_id from jobs where company_id = ${companyId} order by id`

async function noted(providerMediaId: string, more: object = {}) {
  const message = await createMediaMessage(db, { providerMediaId, mimeType: null, filename: 'a.png', ...more })
  await db.begin((tx) => recordMedia(tx, [message]))
  return message
}
const rowOf = ({ companyId, messageId }: { companyId: number; messageId: number }) =>
  findMedia(db, companyId, messageId)
const copy = ({ companyId, messageId }: { companyId: number; messageId: number }) =>
  copyMedia(deps, companyId, messageId)

/** Replaces the sandbox by a provider the test controls. */
async function playing<T>(listener: (base: string) => RequestListener, work: () => Promise<T>): Promise<T> {
  const server = createServer((request, response) => listener(apiBaseUrl)(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  apiBaseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    return await work()
  } finally {
    apiBaseUrl = sandbox.url
    server.closeAllConnections()
    server.close()
  }
}

describe('noting', () => {
  test('what messages say of their media is kept, and a job is enqueued for each, once', async () => {
    const { companyId, senderId, messageId } = await createMediaMessage(db, {
      providerMediaId: '5',
      mimeType: 'application/pdf',
      filename: 'Offer.pdf',
    })
    const message = { companyId, messageId }
    const withLink = await createMediaMessage(db, { link: 'https://x.example/a.png', providerMediaId: null })
    const withText = await createMediaMessage(db, null)
    await db.begin((tx) => recordMedia(tx, [message, withLink, withText]))
    await db.begin((tx) => recordMedia(tx, [message]))
    expect([...(await jobsOf(companyId))]).toEqual([
      { kind: 'media.copy', lane: `sender:${companyId}.${senderId}`, subjectId: messageId },
    ])
    expect(await rowOf(message)).toMatchObject({
      senderId,
      providerMediaId: '5',
      state: 'pending',
      mimeType: 'application/pdf',
      filename: 'Offer.pdf',
      storageKey: expect.stringMatching(new RegExp(`^${companyId}-[0-9a-f]{64}$`)),
    })
    expect(await rowOf(withLink)).toBeUndefined()
    expect(await rowOf(withText)).toBeUndefined()
  })

  test('another company’s message is not found', async () => {
    const { messageId } = await noted('5')
    const companyId = await createCompany(db)
    await db.begin((tx) => recordMedia(tx, [{ companyId, messageId }]))
    expect(await jobsOf(companyId)).toHaveLength(0)
    expect(await rowOf({ companyId, messageId })).toBeUndefined()
    expect(await copyMedia(deps, companyId, messageId)).toEqual({ kind: 'gone' })
  })

  test('nothing is enqueued when the transaction fails', async () => {
    const message = await createMediaMessage(db, { providerMediaId: '5' })
    const failing = db.begin(async (tx) => {
      await recordMedia(tx, [message])
      throw new Error('later')
    })
    await expect(failing).rejects.toThrow('later')
    expect(await jobsOf(message.companyId)).toHaveLength(0)
    expect(await rowOf(message)).toBeUndefined()
  })
})

describe('copying', () => {
  test('the bytes are kept and measured, with the provider’s word for their type', async () => {
    const message = await noted(await upload())
    expect(await copy(message)).toEqual({ kind: 'stored' })
    const row = (await rowOf(message))!
    expect(row).toMatchObject({ state: 'stored', mimeType: 'image/png', sizeBytes: BYTES.length, sha256: SHA256 })
    expect(await buffer((await deps.blobStore.open(row.storageKey))!)).toEqual(BYTES)
    expect(await copy(message)).toEqual({ kind: 'stored' })
  })

  test('many at once for the same message end in one copy', async () => {
    const message = await noted(await upload())
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => copy(message)))
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['stored']))
    expect(await buffer((await deps.blobStore.open((await rowOf(message))!.storageKey))!)).toEqual(BYTES)
  })

  test('media that the provider refuses are asked for again, until it has forgotten them', async () => {
    const message = await noted('424242')
    const { createdAt } = (await rowOf(message))!
    clock.set(createdAt)
    expect(await copy(message)).toEqual({ kind: 'retry', at: new Date(createdAt.getTime() + 5_000) })
    expect(await rowOf(message)).toMatchObject({ state: 'pending', attempts: 1 })
    clock.set(new Date(createdAt.getTime() + 7 * 24 * 3_600_000 - 1))
    expect(await copy(message)).toEqual({ kind: 'gone' })
    expect(await rowOf(message)).toMatchObject({ state: 'gone' })
    expect(await copy(message)).toEqual({ kind: 'gone' })
    clock.set(new Date())
  })

  test.each<[string, number, string]>([
    [
      'a missing permission',
      400,
      JSON.stringify({
        error: {
          message:
            "Unsupported get request. Object with ID '1' does not exist, cannot be loaded due to missing permissions, or does not support this operation",
          type: 'GraphMethodException',
          code: 100,
          error_subcode: 33,
        },
      }),
    ],
    ['404', 404, 'Not Found'],
  ])('a file that is refused once with %s is stored by the next attempt', async (_, status, body) => {
    const id = await upload()
    const message = await noted(id)
    const refusing: RequestListener = (_request, response) => response.writeHead(status).end(body)
    expect(
      await playing(
        () => refusing,
        () => copy(message),
      ),
    ).toMatchObject({ kind: 'retry' })
    expect(await copy(message)).toEqual({ kind: 'stored' })
  })

  test('a provider that is down is tried again on schedule, until it has forgotten', async () => {
    const message = await noted(await upload())
    apiBaseUrl = 'http://127.0.0.1:1'
    const { createdAt } = (await rowOf(message))!
    clock.set(createdAt)
    expect(await copy(message)).toEqual({ kind: 'retry', at: new Date(createdAt.getTime() + 5_000) })
    clock.advance(5_000)
    expect(await copy(message)).toEqual({ kind: 'retry', at: new Date(createdAt.getTime() + 35_000) })
    expect(await rowOf(message)).toMatchObject({ state: 'pending', attempts: 2 })
    clock.set(new Date(createdAt.getTime() + 7 * 24 * 3_600_000 - 1))
    expect(await copy(message)).toEqual({ kind: 'failed' })
    expect(await rowOf(message)).toMatchObject({ state: 'failed', attempts: 3 })
    apiBaseUrl = sandbox.url
    expect(await copy(message)).toEqual({ kind: 'failed' })
    clock.set(new Date())
  })

  test('a number that is not connected may be so again', async () => {
    const message = await noted(await upload())
    const lonely = { ...deps, findSender: async () => undefined }
    expect(await copyMedia(lonely, message.companyId, message.messageId)).toMatchObject({ kind: 'retry' })
    expect(await copy(message)).toEqual({ kind: 'stored' })
  })

  test('a provider that asks to wait is given the time', async () => {
    const message = await noted('1')
    const { createdAt } = (await rowOf(message))!
    clock.set(createdAt)
    const slow: RequestListener = (_request, response) => response.writeHead(429, { 'retry-after': '300' }).end()
    expect(
      await playing(
        () => slow,
        () => copy(message),
      ),
    ).toEqual({
      kind: 'retry',
      at: new Date(createdAt.getTime() + 300_000),
    })
    clock.set(new Date())
  })

  test('a blob store that is full is no loss', async () => {
    const message = await noted(await upload())
    const full = {
      ...deps.blobStore,
      put: () => Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' })),
    }
    const outcome = await copyMedia({ ...deps, blobStore: full }, message.companyId, message.messageId)
    expect(outcome).toMatchObject({ kind: 'retry' })
    const [row] = await db`
      select last_error from media where (company_id, message_id) = (${message.companyId}, ${message.messageId})
    `
    expect(row).toEqual({ lastError: 'it could not be kept: ENOSPC' })
    expect(await copy(message)).toEqual({ kind: 'stored' })
  })
})

describe('bytes that are not what they should be', () => {
  const describing =
    (more: object, body: RequestListener) =>
    (base: string): RequestListener =>
    (request, response) =>
      request.url === '/file'
        ? body(request, response)
        : response.writeHead(200).end(JSON.stringify({ url: `${base}/file`, ...more }))

  test('torn ones are not kept', async () => {
    const message = await noted('1')
    const torn = describing({}, (_request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half')
      setTimeout(() => response.destroy(), 20)
    })
    expect(await playing(torn, () => copy(message))).toMatchObject({ kind: 'retry' })
    const row = (await rowOf(message))!
    expect(row.state).toBe('pending')
    expect(await deps.blobStore.open(row.storageKey)).toBeUndefined()
  })

  test.each<[string, object, string]>([
    ['do not fit their digest', { sha256: SHA256 }, 'another'],
    ['do not fit their size', { mime_type: 'text/plain', file_size: 8 }, 'another'],
    ['are a page in place of a picture', { mime_type: 'image/jpeg' }, '<html><body>Sign in</body></html>'],
    ['are none', { mime_type: 'image/jpeg' }, ''],
  ])('those that %s are never kept, however often they come', async (_, described, body) => {
    const message = await noted('1')
    const wrong = describing(described, (_request, response) => response.end(body))
    await playing(wrong, async () => {
      const kinds = []
      for (let run = 0; run < 5; run += 1) kinds.push((await copy(message)).kind)
      expect(new Set(kinds)).toEqual(new Set(['retry']))
    })
    const row = (await rowOf(message))!
    expect(row.state).toBe('pending')
    expect(await deps.blobStore.open(row.storageKey)).toBeUndefined()
  })

  test('those of which the message names another kind are not kept, whatever the answer says', async () => {
    const message = await noted('1', { mimeType: 'image/jpeg' })
    const page: RequestListener = (_request, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Sign in</title>')
    expect(await playing(describing({}, page), () => copy(message))).toMatchObject({ kind: 'retry' })
    expect((await rowOf(message))!.state).toBe('pending')
  })

  test('too large ones are given up, whether said before or found out', async () => {
    const noteOfFirst = await noted('1')
    const large = describing({ file_size: MAX_MEDIA_BYTES + 1 }, (_request, response) => response.end('x'))
    expect(await playing(large, () => copy(noteOfFirst))).toEqual({ kind: 'failed' })

    const silent = await noted('1')
    const megabyte = Buffer.alloc(1024 * 1024)
    const endless = describing({}, async (_request, response) => {
      while (!response.destroyed) if (!response.write(megabyte)) await once(response, 'drain').catch(() => undefined)
    })
    const closing = playing(endless, () => copy(silent))
    expect(await closing).toEqual({ kind: 'failed' })
    expect(await deps.blobStore.open((await rowOf(silent))!.storageKey)).toBeUndefined()
  })
})
