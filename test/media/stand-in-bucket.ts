import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { atFileEnd } from '../file-end.ts'

/** How a bucket answers: as it should, with a status, not at all, or with headers and half a body before it falls silent. */
export type BucketMode = 'ok' | 'hangs' | 'falls silent' | 403 | 500

/** An S3-compatible store with one bucket in memory, whose answers a test sets. */
export async function startStandInBucket() {
  const objects = new Map<string, Buffer>()
  const mode = { current: 'ok' satisfies BucketMode as BucketMode }
  /** The methods of requests that it left without an answer. */
  const unanswered: string[] = []
  const waiting = new Set<ServerResponse>()
  const endUnanswered = () => {
    for (const response of waiting) response.destroy()
    waiting.clear()
  }

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url = '' } = request
    const key = new URL(url, 'http://bucket').pathname
    if (mode.current === 'hangs') {
      waiting.add(response)
      return void unanswered.push(method)
    }
    if (typeof mode.current === 'number') return void response.writeHead(mode.current).end()
    const body = await buffer(request)
    if (method === 'PUT') objects.set(key, decoded(request, body))
    if (method === 'DELETE') objects.delete(key)
    if (method === 'HEAD' && isObject(key)) return void response.writeHead(objects.has(key) ? 200 : 404).end()
    if (method !== 'GET') return void response.writeHead(method === 'DELETE' ? 204 : 200).end()
    const found = objects.get(key)
    if (found === undefined) return void response.writeHead(404, { 'content-type': 'application/xml' }).end(NO_KEY)
    const [, start = '0', end = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? []
    const part = found.subarray(Number(start), end === '' ? undefined : Number(end) + 1)
    response.writeHead(part.length === found.length ? 200 : 206, { 'content-length': part.length })
    if (mode.current === 'falls silent') {
      unanswered.push(method)
      return void response.write(part.subarray(0, part.length / 2))
    }
    response.end(part)
  }

  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atFileEnd(async () => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://KEY:SECRET@127.0.0.1:${port}/media`, objects, mode, unanswered, endUnanswered }
}

const NO_KEY = '<?xml version="1.0"?><Error><Code>NoSuchKey</Code><Message>There is none</Message></Error>'

/** The client may send a body in chunks of its own, each after a line with its size and signature. */
function decoded({ headers }: IncomingMessage, body: Buffer): Buffer {
  if (!String(headers['x-amz-content-sha256']).startsWith('STREAMING')) return body
  const parts: Buffer[] = []
  for (let at = 0; at < body.length; ) {
    const lineEnd = body.indexOf('\r\n', at)
    const size = Number.parseInt(body.toString('latin1', at, lineEnd), 16)
    if (!size) break
    parts.push(body.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
  return Buffer.concat(parts)
}

const isObject = (path: string): boolean => /^\/[^/]+\/./.test(path)
