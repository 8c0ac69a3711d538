import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts'
import { NUMBER } from '../../sandbox/test/client.ts'
import { createTestApi } from '../../test/api.ts'
import { createTestDatabase } from '../../test/database.ts'
import { createMediaMessage, type TestMessage } from '../../test/sends/media-world.ts'
import { createTestFolder } from '../../test/temporary-folder.ts'
import { createCompany } from '../../test/world.ts'
import { fixedClock } from '../platform/clock.ts'
import { createProviderAgent } from '../platform/outgoing/exchange.ts'
import { createMetaProvider } from '../providers/meta/meta.ts'
import { openFolderBlobStore } from './blobs/folder-blob-store.ts'
import { copyMedia, recordMedia } from './copy/copy-media.ts'
import { type MediaRoutesDeps, mediaRoutes } from './media-routes.ts'
import { findMedia } from './media-store.ts'
import { createMediaSigner } from './signed-address.ts'

const { db } = await createTestDatabase({ mirrors: true })
const folder = await createTestFolder()
const dispatcher = createProviderAgent()
const clock = fixedClock(new Date())
const BYTES = Buffer.from(Array.from({ length: 1_000 }, (_, index) => index % 251))
const DAY_MS = 24 * 3_600_000

let sandbox: Sandbox
let base: string
let apiBaseUrl: string
let deps: MediaRoutesDeps
let close: () => Promise<unknown>

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
    signer: createMediaSigner({ baseUrl: '', encryptionKeys: [randomBytes(32).toString('base64')], clock }),
  }
  const { app } = await createTestApi({
    db,
    clock,
    routes: async (app) => void (await app.register(mediaRoutes(deps))),
  })
  base = await app.listen({ port: 0, host: '127.0.0.1' })
  close = () => {
    // Unread responses keep their connections.
    app.server.closeAllConnections()
    return app.close()
  }
})
afterAll(async () => {
  await close()
  await sandbox.stop()
  await dispatcher.destroy()
})

async function upload(type: string, bytes = BYTES): Promise<string> {
  const answer = await fetch(`${sandbox.url}/v25.0/${NUMBER}/media`, {
    method: 'POST',
    headers: { authorization: 'Bearer token', 'content-type': type },
    body: new Uint8Array(bytes),
  })
  const { id } = (await answer.json()) as { id: string }
  return id
}

/** Creates a message with media already copied. */
async function stored({ type = 'image/png', filename = null as string | null, bytes = BYTES } = {}) {
  const message = await createMediaMessage(db, { providerMediaId: await upload(type, bytes), filename })
  await db.begin((tx) => recordMedia(tx, [message]))
  expect(await copyMedia(deps, message.companyId, message.messageId)).toEqual({ kind: 'stored' })
  return message
}

const addressOf = ({ companyId, messageId }: Pick<TestMessage, 'companyId' | 'messageId'>) =>
  base + deps.signer.address(companyId, messageId)
const get = (message: TestMessage, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(addressOf(message), { headers, method })
const bytesOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer())

describe('200', () => {
  test('the bytes with their type, and nothing that a browser could make of them', async () => {
    const message = await stored({ filename: 'Foto März.png' })
    const answer = await get(message)
    expect(answer.status).toBe(200)
    expect(await bytesOf(answer)).toEqual(BYTES)
    const { sha256 } = (await findMedia(db, message.companyId, message.messageId))!
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': '1000',
      'content-disposition': `inline; filename="Foto M_rz.png"; filename*=UTF-8''Foto%20M%C3%A4rz.png`,
      etag: `"${sha256}"`,
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cache-control': expect.stringMatching(/^private, max-age=[0-9]{6}, immutable$/),
    })
  })

  test('after the provider’s copy is gone', async () => {
    const message = await stored()
    apiBaseUrl = 'http://127.0.0.1:1'
    expect(await bytesOf(await get(message))).toEqual(BYTES)
    apiBaseUrl = sandbox.url
  })

  test.each(['image/svg+xml', 'text/html', 'text/javascript', 'application/pdf'])('%s is for saving', async (type) => {
    const answer = await get(await stored({ type, filename: 'a.bin' }))
    expect(answer.headers.get('content-type')).toBe(type)
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="a.bin"')
  })

  test('hostile type and name do not leave their header', async () => {
    const message = await stored({ filename: 'x"\r\nset-cookie: a=b\r\n\r\n<script>.svg' })
    await db`
      update media set mime_type = ${'text/html\r\nx: y'} where (company_id, message_id) = (${message.companyId}, ${message.messageId})
    `
    const answer = await get(message)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/octet-stream')
    expect(answer.headers.get('set-cookie')).toBeNull()
    expect(answer.headers.get('content-disposition')).toContain('attachment; filename="x_set-cookie: a=b<script>.svg"')
  })

  test('HEAD has the same headers without the bytes, whatever the range', async () => {
    const answer = await get(await stored(), { range: 'bytes=0-1' }, 'HEAD')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-length')).toBe('1000')
    expect(answer.headers.get('content-type')).toBe('image/png')
    expect(await bytesOf(answer)).toHaveLength(0)
  })

  test('an empty file', async () => {
    const message = await stored()
    const { storageKey } = (await findMedia(db, message.companyId, message.messageId))!
    const { Readable } = await import('node:stream')
    await deps.blobStore.put(storageKey, Readable.from([]), { mimeType: 'image/png', maxBytes: 1 })
    await db`
      update media set size_bytes = 0 where (company_id, message_id) = (${message.companyId}, ${message.messageId})
    `
    const answer = await get(message)
    expect([answer.status, answer.headers.get('content-length')]).toEqual([200, '0'])
  })
})

describe('206', () => {
  test.each([
    ['bytes=0-0', 0, 0],
    ['bytes=0-99', 0, 99],
    ['bytes=990-', 990, 999],
    ['bytes=-10', 990, 999],
    ['bytes=900-5000', 900, 999],
  ])('%s', async (range, start, end) => {
    const answer = await get(await stored(), { range })
    expect(answer.status).toBe(206)
    expect(answer.headers.get('content-range')).toBe(`bytes ${start}-${end}/1000`)
    expect(answer.headers.get('content-length')).toBe(String(end - start + 1))
    expect(await bytesOf(answer)).toEqual(BYTES.subarray(start, end + 1))
  })

  test('with If-Range only of the same file', async () => {
    const message = await stored()
    const etag = (await get(message)).headers.get('etag')!
    expect((await get(message, { range: 'bytes=0-1', 'if-range': etag })).status).toBe(206)
    expect((await get(message, { range: 'bytes=0-1', 'if-range': '"other"' })).status).toBe(200)
    expect((await get(message, { range: 'bytes=0-1', 'if-range': 'Thu, 01 Jan 2026 00:00:00 GMT' })).status).toBe(200)
  })

  test('not for several parts, nor for what is no range', async () => {
    const message = await stored()
    expect((await get(message, { range: 'bytes=0-1,5-6' })).status).toBe(200)
    expect((await get(message, { range: 'lines=1-2' })).status).toBe(200)
  })
})

test('304 for a client that has it already', async () => {
  const message = await stored()
  const etag = (await get(message)).headers.get('etag')!
  for (const header of [etag, `W/${etag}`, `"a", ${etag}`, '*']) {
    const answer = await get(message, { 'if-none-match': header })
    expect([answer.status, answer.headers.get('etag')]).toEqual([304, etag])
    expect(await bytesOf(answer)).toHaveLength(0)
  }
  expect((await get(message, { 'if-none-match': '"a"' })).status).toBe(200)
})

test('416 for a range behind the end', async () => {
  const answer = await get(await stored(), { range: 'bytes=1000-' })
  expect(answer.status).toBe(416)
  expect(answer.headers.get('content-range')).toBe('bytes */1000')
  expect(await answer.json()).toMatchObject({ error: { code: 'range_not_satisfiable' } })
})

describe('404, with the same text for every reason', () => {
  const refusal = async (address: string) => {
    const answer = await fetch(address)
    return { status: answer.status, body: await answer.json() }
  }
  const nothing = { status: 404, body: { error: { code: 'not_found', message: expect.stringContaining('no file') } } }

  test('an address that was not signed, or was changed', async () => {
    const address = addressOf(await stored())
    expect((await fetch(address)).status).toBe(200)
    const changed = address.slice(0, -1) + (address.endsWith('A') ? 'B' : 'A')
    const shifted = address.replace(
      /media\/(.{20})(.)/,
      (_all, head, sign) => `media/${head}${sign === 'A' ? 'B' : 'A'}`,
    )
    for (const one of [`${base}/media/x`, changed, shifted, `${address}A`]) expect(await refusal(one)).toEqual(nothing)
  })

  test('an address that has run out', async () => {
    const address = addressOf(await stored())
    clock.advance(7 * DAY_MS - 1_000)
    expect((await fetch(address)).status).toBe(200)
    clock.advance(3_600_000)
    expect(await refusal(address)).toEqual(nothing)
    clock.set(new Date())
  })

  test('a message of another company, without media, or that never was', async () => {
    const { messageId } = await stored()
    const companyId = await createCompany(db)
    const without = await createMediaMessage(db, null)
    expect(await refusal(addressOf({ companyId, messageId }))).toEqual(nothing)
    expect(await refusal(addressOf(without))).toEqual(nothing)
    expect(await refusal(addressOf({ companyId, messageId: 999_999_999 }))).toEqual(nothing)
  })

  test('media that the provider did not have', async () => {
    const message = await createMediaMessage(db, { providerMediaId: '4242' })
    expect((await get(message)).status).toBe(503)
    await db`update media set created_at = created_at - interval '7 d' where (company_id, message_id) = (${message.companyId}, ${message.messageId})`
    expect(await copyMedia(deps, message.companyId, message.messageId)).toEqual({ kind: 'gone' })
    expect(await refusal(addressOf(message))).toEqual(nothing)
  })

  test('a file that has vanished from the blob store', async () => {
    const message = await stored()
    await deps.blobStore.remove((await findMedia(db, message.companyId, message.messageId))!.storageKey)
    expect(await refusal(addressOf(message))).toEqual(nothing)
  })
})

describe('not copied yet', () => {
  test('copies at once for the first reader, and enqueues a job for media without a record', async () => {
    const message = await createMediaMessage(db, { providerMediaId: await upload('image/png') })
    const answers = await Promise.all(Array.from({ length: 6 }, () => get(message)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200])
    expect(await bytesOf(answers[0]!)).toEqual(BYTES)
    const { companyId, senderId, messageId } = message
    const jobs = await db`select lane, subject_id from jobs where company_id = ${companyId}`
    expect([...jobs]).toEqual([{ lane: `sender:${companyId}.${senderId}`, subjectId: messageId }])
  })

  test('503 with a time to come back while the provider is down; readers do not count as attempts', async () => {
    const message = await createMediaMessage(db, { providerMediaId: await upload('image/png') })
    apiBaseUrl = 'http://127.0.0.1:1'
    const answer = await get(message)
    apiBaseUrl = sandbox.url
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '15'])
    expect(await answer.json()).toMatchObject({ error: { code: 'service_unavailable' } })
    expect((await get(message)).status).toBe(503)
    expect(await findMedia(db, message.companyId, message.messageId)).toMatchObject({ state: 'pending', attempts: 0 })
    expect(await copyMedia(deps, message.companyId, message.messageId)).toEqual({ kind: 'stored' })
    expect((await get(message)).status).toBe(200)
  })
})
