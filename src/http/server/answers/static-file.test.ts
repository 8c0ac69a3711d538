import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { startFiles, text } from '../../../../test/static-file-world.ts'

const { open } = await startFiles()

describe('a static file', () => {
  test('is sent in the encoding that the client prefers', async () => {
    const { app } = await open(Buffer.from(text), {})
    const read = async (accepted?: string) => {
      const headers = accepted === undefined ? {} : { 'accept-encoding': accepted }
      const reply = await app.inject({ url: '/file', headers })
      expect(reply.headers).toMatchObject({
        vary: 'Accept-Encoding',
        'content-length': String(reply.rawPayload.length),
        'content-type': 'text/plain; charset=utf-8',
      })
      return { encoding: reply.headers['content-encoding'], bytes: reply.rawPayload }
    }
    const brotli = await read('gzip, deflate, br')
    expect([brotli.encoding, brotliDecompressSync(brotli.bytes).toString()]).toEqual(['br', text])
    const gzip = await read('br;q=0, gzip')
    expect([gzip.encoding, gunzipSync(gzip.bytes).toString()]).toEqual(['gzip', text])
    for (const accepted of [undefined, '', 'identity', 'compress', 'gzip;q=0']) {
      const { encoding, bytes } = await read(accepted)
      expect([accepted, encoding, bytes.toString() === text]).toEqual([accepted, undefined, true])
    }
  })

  test('is answered 304 to a client that has it, each encoding by an ETag of its own', async () => {
    const { app } = await open(Buffer.from(text), {})
    const etagOf = async (accepted: string) =>
      String((await app.inject({ url: '/file', headers: { 'accept-encoding': accepted } })).headers.etag)
    const [brotli, gzip] = [await etagOf('br'), await etagOf('gzip')]
    expect(brotli).toMatch(/^"[^"]+"$/)
    expect(brotli).not.toBe(gzip)
    const statusFor = async (header: string) => {
      const headers = { 'accept-encoding': 'br', 'if-none-match': header }
      const reply = await app.inject({ url: '/file', headers })
      return [reply.statusCode, reply.rawPayload.length > 0, reply.headers.etag]
    }
    for (const header of [brotli, `W/${brotli}`, `"other", ${brotli}`, '*']) {
      expect(await statusFor(header)).toEqual([304, false, brotli])
    }
    expect(await statusFor(gzip)).toEqual([200, true, brotli])
  })

  test('is described to HEAD without its content', async () => {
    const { app } = await open(Buffer.from(text), {})
    const reply = await app.inject({ method: 'HEAD', url: '/file' })
    expect([reply.statusCode, reply.headers['content-length'], reply.rawPayload.length]).toEqual([
      200,
      String(text.length),
      0,
    ])
  })
})
