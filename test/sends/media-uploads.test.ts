import { connect } from 'node:net'
import { beforeAll, describe, expect, test } from 'vitest'
import { sampleOf } from '../../sandbox/world/sample-media.ts'
import { deleteMessages } from '../../src/conversations/message-expiry-store.ts'
import { sql } from '../../src/db/connect.ts'
import { deleteMedia } from '../../src/media/media-store.ts'
import { expireUploads } from '../../src/media/uploads/upload-store.ts'
import { ALL } from '../lifetimes.ts'
import { SEND, startTransports } from '../providers/transports-world.ts'
import { eventually, uniquePhone } from '../service.ts'
import { type Connected, MEDIA, picture, uploadWorld } from './upload-world.ts'

const transports = await startTransports()
const { service, connected } = transports
const { shown, upload, uploaded, openWindow, sentTo, recordOf } = uploadWorld(transports)
const { db, deps, url } = service

const uploadsOf = (company: Connected) => db`select id, due_at from uploads where company_id = ${company.companyId}`

describe('an upload', () => {
  let company: Connected
  beforeAll(async () => {
    company = await connected('meta')
  })

  test.each([
    ['image/jpeg', 'image', 'image/jpeg'],
    ['image/webp', 'sticker', 'image/webp'],
    ['audio/ogg', 'audio', 'audio/ogg; codecs=opus'],
    ['video/mp4', 'video', 'video/mp4'],
    ['application/pdf', 'document', 'application/pdf'],
    ['other', 'document', 'text/plain'],
  ])('of %s is of the kind %s, by its bytes', async (sample, kind, type) => {
    const { bytes } = sampleOf(sample)
    const { status, body } = await upload(company, bytes, '?filename=a%20file', { 'content-type': 'image/x-wrong' })
    expect([status, body.data]).toEqual([
      201,
      {
        mediaId: expect.stringMatching(/^med_[A-Za-z0-9]{24}$/),
        kind,
        type,
        filename: 'a file',
        sizeBytes: bytes.length,
        expiresAt: expect.any(String),
      },
    ])
  })

  test('of what WhatsApp does not take is refused with the reason, and leaves nothing', async () => {
    const before = await uploadsOf(company)
    const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
    const large = Buffer.concat([sampleOf('image/png').bytes, Buffer.alloc(5 * 1024 * 1024)])
    for (const [bytes, message] of [
      [gif, 'is image/gif, which WhatsApp does not take'],
      [large, 'the limit for image (image/png) is 5242880'],
      [Buffer.alloc(0), 'is empty'],
      [Buffer.from([1, 2, 0, 3]), 'is of an unknown type'],
    ] as const) {
      const { status, body } = await upload(company, bytes)
      expect([status, body.error.code]).toEqual([422, 'validation_error'])
      expect(body.error.details.fields).toEqual([{ path: 'body', message: expect.stringContaining(message) }])
    }
    await eventually(async () => (await uploadsOf(company)).length === before.length)
  })

  test('as a form or as JSON is refused', async () => {
    const form = 'multipart/form-data; boundary=x'
    for (const type of ['application/json', form, 'application/x-www-form-urlencoded']) {
      const { status, body } = await upload(company, '{}', '', { 'content-type': type })
      expect([type, status, body.error.code]).toEqual([type, 400, 'bad_request'])
    }
    const { status, body } = await upload(company, picture(), `?filename=${'x'.repeat(241)}`)
    expect([status, body.error.details.fields[0].path]).toEqual([422, 'filename'])
  })

  test('with an Idempotency-Key is stored once', async () => {
    const headers = { 'idempotency-key': 'upload-1' }
    const bytes = picture()
    const first = await upload(company, bytes, '', headers)
    const count = (await uploadsOf(company)).length
    const again = await upload(company, bytes, '', headers)
    expect([again.status, again.body]).toEqual([201, first.body])
    expect((await upload(company, picture(), '', headers)).body.error.code).toBe('idempotency_key_reused')
    await eventually(async () => (await uploadsOf(company)).length === count)
  })

  test('of which at most four arrive at the same time', async () => {
    const { port } = new URL(url)
    const head = [
      `POST ${MEDIA} HTTP/1.1`,
      'Host: a',
      `Authorization: Bearer ${company.key.token}`,
      'Content-Type: application/octet-stream',
      'Content-Length: 1000',
      '',
      'x',
    ]
    const before = (await uploadsOf(company)).length
    const sockets = [1, 2, 3, 4].map(() => connect(Number(port), '127.0.0.1').on('error', () => undefined))
    for (const socket of sockets) socket.write(head.join('\r\n'))
    await eventually(async () => (await uploadsOf(company)).length === before + 4)
    const refused = await upload(company, picture())
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    for (const socket of sockets) socket.destroy()
    await eventually(async () => (await upload(company, picture())).status === 201)
    await eventually(async () => (await uploadsOf(company)).length === before + 1)
  })

  test('of which a thousand may wait to be sent', async () => {
    const own = await connected('meta')
    await db`
      insert into uploads (company_id, id, storage_key, due_at)
      select ${own.companyId}, 'med_' || n, 'none', now() + interval '1 day' from generate_series(1, 1000) n
    `
    const { status, body } = await upload(own, picture())
    expect([status, body.error.details.fields[0].message]).toEqual([422, expect.stringContaining('1000 files')])
  })
})

describe('a mediaId', () => {
  let company: Connected
  beforeAll(async () => {
    company = await connected('meta')
  })

  test('of another company, and one that does not exist, is answered 404', async () => {
    const foreign = await uploaded(await connected('meta'), picture())
    const recipient = await openWindow(company)
    for (const mediaId of [foreign, 'med_none']) {
      const { status, body } = await company.api('POST', SEND, { recipient, type: 'image', media: { mediaId } })
      expect([status, body]).toEqual([404, { message: 'Media not found' }])
    }
  })

  test('goes with a message of its kind', async () => {
    const mediaId = await uploaded(company, picture())
    const recipient = await openWindow(company)
    const { status, body } = await company.api('POST', SEND, { recipient, type: 'video', media: { mediaId } })
    const message = 'names a file of the kind image, not video'
    expect([status, body.error.details.fields]).toEqual([422, [{ path: 'media.mediaId', message }]])
  })

  test('excludes link and providerMediaId', async () => {
    const media = { mediaId: 'med_1', link: 'https://example.com/a.png' }
    const { status, body } = await company.api('POST', SEND, { recipient: uniquePhone(), type: 'image', media })
    expect([status, body.error.message]).toEqual([400, expect.stringContaining('exactly one of media.link')])
  })
})

describe('the bytes of an upload', () => {
  const isStored = async (mediaId: string) => {
    const [row] = await db<[{ storageKey: string }]>`select storage_key from uploads where id = ${mediaId}`
    const body = await deps.blobStore.open(row.storageKey)
    body?.destroy()
    return body !== undefined
  }
  const isDue = (mediaId: string) => db`update uploads set due_at = now() where id = ${mediaId}`

  test('are deleted 30 days after the upload, unless a message carries them', async () => {
    const company = await connected('meta')
    const [unsent, sent] = [await uploaded(company, picture()), await uploaded(company, picture())]
    const [{ days }] = await db<[{ days: number }]>`
      select round(extract(epoch from due_at - created_at) / 86400)::integer as days from uploads where id = ${unsent}
    `
    expect(days).toBe(30)
    await sentTo(company, { type: 'image', media: { mediaId: sent } })
    for (const mediaId of [unsent, sent]) await isDue(mediaId)
    await expireUploads(db, ALL)
    expect(await uploadsOf(company)).toEqual([{ id: sent, dueAt: null }])
    expect(await isStored(sent)).toBe(true)
    const recipient = await openWindow(company)
    const { status } = await company.api('POST', SEND, { recipient, type: 'image', media: { mediaId: unsent } })
    expect(status).toBe(404)
  })

  test('go with the last message that is deleted for its age', async () => {
    const company = await connected('meta')
    const mediaId = await uploaded(company, picture())
    const messages = [
      await sentTo(company, { type: 'image', media: { mediaId } }),
      await sentTo(company, { type: 'image', media: { mediaId } }),
    ]
    for (const [place, { messageId }] of messages.entries()) {
      await deleteMedia(db, company.companyId, sql`message_id = ${messageId}`)
      await deleteMessages(db, company.companyId, [messageId])
      await expireUploads(db, ALL)
      expect((await uploadsOf(company)).length).toBe(place === 0 ? 1 : 0)
    }
  })

  test('stay while another person has the message, and go with the erasure of the last one', async () => {
    const company = await connected('meta')
    const bytes = picture()
    const mediaId = await uploaded(company, bytes)
    const messages = [
      await sentTo(company, { type: 'image', media: { mediaId } }),
      await sentTo(company, { type: 'image', media: { mediaId } }),
    ]
    const erase = async (message: { chatId: number }) => {
      const { body } = await company.api('GET', `/whatsapp/conversations/${message.chatId}`)
      expect((await company.api('DELETE', `/contacts/${body.data.contact.id}?erase=true`)).status).toBe(200)
    }
    await erase(messages[0])
    await eventually(async () => (await recordOf(company, messages[0])).text === '[erased]')
    expect(await shown((await recordOf(company, messages[1])).media)).toEqual(bytes)
    await erase(messages[1])
    await eventually(async () => (await uploadsOf(company)).length === 0)
  })
})
