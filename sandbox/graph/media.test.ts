import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../sandbox.ts'
import { call, NUMBER, SECOND_NUMBER } from '../test/client.ts'

let now = new Date('2026-01-01T00:00:00Z')
let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox({ clock: { now: () => now } })
})
afterAll(() => sandbox.stop())

const BYTES = Buffer.from([0, 255, 128, 13, 10, 45, 45, 7])
const headers = { authorization: 'Bearer token' }

async function upload(bytes = BYTES): Promise<string> {
  const form = new FormData()
  form.set('messaging_product', 'whatsapp')
  form.set('type', 'image/png')
  form.set('file', new Blob([new Uint8Array(bytes)], { type: 'application/octet-stream' }), 'a.png')
  const answer = await fetch(`${sandbox.url}/v25.0/${NUMBER}/media`, { method: 'POST', headers, body: form })
  const { id } = (await answer.json()) as { id: string }
  return id
}

test('gives back the bytes of a form upload, with their type', async () => {
  const id = await upload()
  const { body: media } = await call(sandbox, 'GET', `/v25.0/${id}?phone_number_id=${NUMBER}`)
  expect(media).toEqual({
    messaging_product: 'whatsapp',
    id,
    mime_type: 'image/png',
    sha256: createHash('sha256').update(BYTES).digest('hex'),
    file_size: BYTES.length,
    url: expect.stringContaining(sandbox.url),
  })
  const answer = await fetch(media.url, { headers })
  expect(answer.headers.get('content-type')).toBe('image/png')
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(BYTES)
})

test('takes the bytes alone, too', async () => {
  const answer = await fetch(`${sandbox.url}/v25.0/${NUMBER}/media`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/pdf' },
    body: BYTES,
  })
  const { id } = (await answer.json()) as { id: string }
  expect((await call(sandbox, 'GET', `/v25.0/${id}`)).body).toMatchObject({ mime_type: 'application/pdf' })
})

test('the address dies after five minutes, and a new one can be had', async () => {
  const id = await upload()
  const { body: media } = await call(sandbox, 'GET', `/v25.0/${id}`)
  now = new Date(now.getTime() + 5 * 60_000)
  expect((await fetch(media.url, { headers })).status).toBe(200)
  now = new Date(now.getTime() + 1)
  expect((await fetch(media.url, { headers })).status).toBe(404)
  const again = await call(sandbox, 'GET', `/v25.0/${id}`)
  expect((await fetch(again.body.url, { headers })).status).toBe(200)
})

test('401 without a bearer, 404 for an address that was tampered with', async () => {
  const { body: media } = await call(sandbox, 'GET', `/v25.0/${await upload()}`)
  expect((await fetch(media.url)).status).toBe(401)
  expect((await fetch(media.url.replace(/ext=\d+/, 'ext=99999999999999'), { headers })).status).toBe(404)
})

test('400 for media of another number, or of none', async () => {
  const id = await upload()
  const foreign = await call(sandbox, 'GET', `/v25.0/${id}?phone_number_id=${SECOND_NUMBER}`)
  expect([foreign.status, foreign.body.error.error_subcode]).toEqual([400, 33])
  expect((await call(sandbox, 'GET', '/v25.0/12345')).body.error.code).toBe(100)
})

test('400 for a form without a file', async () => {
  const form = new FormData()
  form.set('messaging_product', 'whatsapp')
  const answer = await fetch(`${sandbox.url}/v25.0/${NUMBER}/media`, { method: 'POST', headers, body: form })
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({ error: { code: 100 } })
})

test('keeps a few large files only', async () => {
  const first = await upload(Buffer.alloc(70_000, 1))
  const small = await upload()
  for (let n = 0; n < 8; n += 1) await upload(Buffer.alloc(70_000, n))
  expect((await call(sandbox, 'GET', `/v25.0/${first}`)).status).toBe(400)
  expect((await call(sandbox, 'GET', `/v25.0/${small}`)).status).toBe(200)
})
