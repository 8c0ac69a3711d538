import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { sampleOf } from '../../sandbox/world/sample-media.ts'
import { openBucketBlobStore } from '../../src/media/blobs/bucket-blob-store.ts'
import { eventually, startTestService, uniquePhone } from '../service.ts'
import { createTestFolder } from '../temporary-folder.ts'
import { type BucketMode, startStandInBucket } from './stand-in-bucket.ts'

const SEND = '/templates/whatsapp/send'
/** A caller gets an answer within this time, and the machine of a test may be slow. */
const ANSWER_MS = 10_000
const SLOWNESS_MS = 20_000

const bucket = await startStandInBucket()
const temporary = await createTestFolder()
const logged: Record<string, unknown>[] = []
const service = await startTestService({
  blobStore: await openBucketBlobStore(bucket.url, temporary),
  onLog: (line) => logged.push(line),
})
const { call, control, createCompany, db, url } = service

let company: Awaited<ReturnType<typeof createCompany>>
let recipient: string
let mediaId: string
let storedUrl: string

beforeAll(async () => {
  company = await createCompany()
  recipient = uniquePhone()
  const media = { from: recipient, type: 'image' }
  await control('POST', '/inbound', { phoneNumberId: company.phoneNumberId, ...media })
  storedUrl = await eventually(async () => {
    const [row] = await db`select state from media where company_id = ${company.companyId}`
    return row?.state === 'stored' && (await mediaUrl())
  })
  mediaId = await uploaded()
}, 120_000)
afterEach(() => {
  bucket.mode.current = 'ok'
})

async function mediaUrl(): Promise<string> {
  const [chat] = await db`select id from conversations where company_id = ${company.companyId}`
  const messages = await company.api('GET', `/whatsapp/conversations/${chat!.id}/messages`)
  return messages.body.data[0].media.url.replace(/^https?:\/\/[^/]+/, '')
}

const picture = () => Buffer.concat([sampleOf('image/png').bytes, randomBytes(32)])

async function upload() {
  const headers = { authorization: `Bearer ${company.key.token}`, 'content-type': 'application/octet-stream' }
  const answer = await fetch(`${url}/public/v1/whatsapp/media`, {
    method: 'POST',
    headers,
    body: new Uint8Array(picture()),
  })
  const text = await answer.text()
  return { status: answer.status, body: JSON.parse(text), headers: answer.headers }
}

async function uploaded(): Promise<string> {
  const { status, body } = await upload()
  expect([status, body.error]).toEqual([201, undefined])
  return body.data.mediaId
}

const bring = async () => {
  const headers = { authorization: `Bearer ${company.key.token}`, 'content-type': 'text/csv' }
  return call(url, 'POST', '/public/v1/contacts/import', 'email\nada@example.com\n', headers)
}
const send = (headers: Record<string, string> = {}) =>
  company.api('POST', SEND, { recipient, type: 'image', media: { mediaId } }, headers)
const template = () =>
  company.api('PUT', '/templates/whatsapp/sample/it', {
    category: 'UTILITY',
    components: [
      { type: 'HEADER', format: 'IMAGE', example: { mediaId } },
      { type: 'BODY', text: 'Your table is ready.' },
    ],
  })
const sentTo = async () => {
  const { body } = await control('GET', '/messages?limit=500')
  return body.filter(({ to }: { to: string }) => to === recipient).length
}

async function expectUnavailable(work: () => Promise<{ status: number; body?: unknown; headers: Headers }>) {
  const startMs = performance.now()
  const { status, body, headers } = await work()
  expect([status, body]).toEqual([
    503,
    { error: { code: 'service_unavailable', message: expect.stringContaining('media storage') } },
  ])
  expect(headers.get('retry-after')).toMatch(/^\d+$/)
  expect(performance.now() - startMs).toBeLessThan(ANSWER_MS + SLOWNESS_MS)
}

describe.each<BucketMode>(['hangs', 403, 500])('with a bucket that %s', (mode) => {
  test('every call for a file is 503 with the media storage as the reason', async () => {
    mediaId = await uploaded()
    bucket.mode.current = mode
    const download = () => call(url, 'GET', storedUrl)
    await Promise.all([upload, download, bring, send, template].map(expectUnavailable))
  })

  test('a send under an Idempotency-Key sends nothing, and can be repeated once the bucket is back', async () => {
    mediaId = await uploaded()
    const key = { 'idempotency-key': `once-${mode}` }
    const before = await sentTo()
    bucket.mode.current = mode
    await expectUnavailable(() => send(key))
    expect(await sentTo()).toBe(before)
    bucket.mode.current = 'ok'
    expect((await send(key)).status).toBe(200)
    expect((await send(key)).status).toBe(200)
    expect(await sentTo()).toBe(before + 1)
  })

  test('callers without files notice nothing', async () => {
    bucket.mode.current = mode
    const waiting = Array.from({ length: 12 }, () => upload())
    const other = await createCompany()
    const answers = [
      await call(url, 'GET', '/readyz'),
      await other.api('GET', '/contacts'),
      await other.api('POST', '/contacts', { email: 'ada@example.com' }),
      await company.api('POST', SEND, { recipient, type: 'text', text: 'Hi' }),
    ]
    for (const { status } of await Promise.all(waiting)) expect([429, 503]).toContain(status)
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  })
})

test('a bucket that falls silent within a file is 503, and no answer of another kind', async () => {
  mediaId = await uploaded()
  bucket.mode.current = 'falls silent'
  await expectUnavailable(send)
})

test('a failure is logged once, with its cause', async () => {
  bucket.mode.current = 403
  logged.length = 0
  await upload()
  const lines = logged.filter(({ msg }) => msg === 'request.failed')
  const err = { message: expect.stringContaining('The media storage failed') }
  expect(lines).toMatchObject([{ err, route: '/public/v1/whatsapp/media' }])
})

test('no temporary file stays', async () => {
  await eventually(async () => {
    const found = await readdir(temporary, { recursive: true, withFileTypes: true })
    return found.every((one) => !one.isFile())
  })
})

test('a customer’s file waits for the storage', async () => {
  const from = uniquePhone()
  bucket.mode.current = 500
  await control('POST', '/inbound', { phoneNumberId: company.phoneNumberId, from, type: 'image' })
  const stateOf = async () => {
    const [row] = await db`
      select media.state, media.last_error, media.attempts from media
      where company_id = ${company.companyId} order by message_id desc limit 1
    `
    return row
  }
  await eventually(async () => ((await stateOf())?.attempts ?? 0) > 0)
  bucket.mode.current = 'ok'
  await db`update jobs set due_at = now() where kind = 'media.copy' and claim_id is null`
  await eventually(async () => (await stateOf())?.state === 'stored')
})
