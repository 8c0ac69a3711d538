import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { describe, expect, test } from 'vitest'
import { SHA256, startCopies } from '../../../test/media/copy-world.ts'
import { MAX_MEDIA_BYTES } from './copy-media.ts'

const { deps, noted, rowOf, copy, playing } = await startCopies()

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
