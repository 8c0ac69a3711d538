import type { RequestListener } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { BYTES, clock, SHA256, startCopies } from '../../../test/media/copy-world.ts'
import { createMediaMessage } from '../../../test/sends/media-world.ts'
import { createCompany } from '../../../test/world.ts'
import { copyMedia, recordMedia } from './copy-media.ts'

const { db, sandbox, provider, deps, upload, jobsOf, noted, rowOf, copy, playing } = await startCopies()

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
    provider.url = 'http://127.0.0.1:1'
    const { createdAt } = (await rowOf(message))!
    clock.set(createdAt)
    expect(await copy(message)).toEqual({ kind: 'retry', at: new Date(createdAt.getTime() + 5_000) })
    clock.advance(5_000)
    expect(await copy(message)).toEqual({ kind: 'retry', at: new Date(createdAt.getTime() + 35_000) })
    expect(await rowOf(message)).toMatchObject({ state: 'pending', attempts: 2 })
    clock.set(new Date(createdAt.getTime() + 7 * 24 * 3_600_000 - 1))
    expect(await copy(message)).toEqual({ kind: 'failed' })
    expect(await rowOf(message)).toMatchObject({ state: 'failed', attempts: 3 })
    provider.url = sandbox.url
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
