import { writeFile } from 'node:fs/promises'
import { request as httpsRequest } from 'node:https'
import { connect as connectSocket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createCertificate } from '../../../test/deploy/certificate.ts'
import { codeOf, startHttps } from '../../../test/https-world.ts'
import { createTestFolder } from '../../../test/temporary-folder.ts'

const { key, open } = await startHttps()

describe('on a real socket', () => {
  test('the server speaks HTTPS itself with a certificate', async () => {
    const folder = await createTestFolder()
    const { cert, key: privateKey } = createCertificate()
    const tls = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
    await writeFile(tls.certFile, cert)
    await writeFile(tls.keyFile, privateKey)
    const app = await open({ tls, plainHttp: 'reject' })
    const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))

    const reply = await new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      const request = httpsRequest(
        { host: '127.0.0.1', port, servername: 'localhost', path: '/public/v1/thing', headers: key.headers, ca: cert },
        (response) => {
          let body = ''
          response.on('data', (chunk) => {
            body += chunk
          })
          response.on('end', () => resolve({ status: response.statusCode, body }))
        },
      )
      request.on('error', reject).end()
    })
    expect(reply).toEqual({ status: 200, body: '{"ok":true}' })
    await expect(fetch(`http://127.0.0.1:${port}/public/v1/thing`, { headers: key.headers })).rejects.toThrow()
  })

  test('413 for a body that is too large, declared or not, while it is still being sent', async () => {
    const address = await (await open()).listen({ port: 0, host: '127.0.0.1' })
    const megabytes = (count: number) => Buffer.from(`"${'x'.repeat(count * 1024 * 1024)}"`)
    const post = (path: string, body: RequestInit['body'], init: Record<string, unknown> = {}) =>
      fetch(`${address}${path}`, {
        method: 'POST',
        headers: { ...key.headers, 'content-type': 'application/json' },
        body: body ?? null,
        ...init,
      })
    const declared = await post('/public/v1/thing', megabytes(2))
    expect([declared.status, codeOf(await declared.json())]).toEqual([413, 'payload_too_large'])
    expect((await post('/public/v1/large', megabytes(7))).status).toBe(200)
    expect((await post('/public/v1/large', megabytes(9))).status).toBe(413)

    const head = `POST /public/v1/thing HTTP/1.1\r\nhost: a\r\nauthorization: ${key.headers.authorization}\r\n`
    const chunk = `40000\r\n${'x'.repeat(0x40000)}\r\n`
    const chunked = await speak(
      address,
      `${head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${chunk.repeat(5)}`,
    )
    expect(chunked).toMatch(/^HTTP\/1\.1 413 /)
    expect(chunked).toContain('payload_too_large')
  })

  test('10,000 nested arrays are answered 422 and named', async () => {
    const address = await (await open()).listen({ port: 0, host: '127.0.0.1' })
    const reply = await fetch(`${address}/public/v1/thing`, {
      method: 'POST',
      headers: { ...key.headers, 'content-type': 'application/json' },
      body: `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`,
    })
    expect(reply.status).toBe(422)
    expect(JSON.stringify(await reply.json())).toMatch(/"path":"a(\[0\])+"/)
  })

  test('bytes that are no HTTP are refused in the shape of every refusal', async () => {
    const address = await (await open()).listen({ port: 0, host: '127.0.0.1' })
    const answer = await speak(address, 'NONSENSE\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('"code":"bad_request"')
    expect(answer).toMatch(/x-request-id: req_/i)
  })

  test('an anonymous client is refused without waiting for the announced body', async () => {
    const address = await (await open()).listen({ port: 0, host: '127.0.0.1' })
    const head =
      'POST /public/v1/thing HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n'
    expect(await speak(address, head)).toMatch(/^HTTP\/1\.1 401 /)
  })
})

test('a certificate that cannot be used is reported with its setting', async () => {
  const folder = await createTestFolder()
  const [own, other] = [createCertificate(), createCertificate()]
  const tls = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
  await expect(open({ tls })).rejects.toThrow(`TLS_CERT_FILE=${tls.certFile} can't be read (ENOENT)`)
  await writeFile(tls.certFile, own.cert)
  await writeFile(tls.keyFile, other.key)
  await expect(open({ tls })).rejects.toThrow("the key has to be the certificate's")
})

/** Writes bytes to the server, and gives back the first that it answers. */
function speak(address: string, text: string): Promise<string> {
  const { hostname, port } = new URL(address)
  return new Promise((resolve, reject) => {
    const socket = connectSocket(Number(port), hostname, () => socket.write(text))
    let answer = ''
    socket.on('data', (bytes) => {
      answer += bytes
      if (!answer.includes('}')) return
      socket.destroy()
      resolve(answer)
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(answer))
  })
}
