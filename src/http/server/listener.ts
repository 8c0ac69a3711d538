import { readFile } from 'node:fs/promises'
import { createServer as createHttpServer, type RequestListener, type Server, STATUS_CODES } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import { createSecureContext } from 'node:tls'
import type { ConnectionError } from 'fastify'
import { badRequest, errorCodeOf, lateRequest } from '../../platform/errors.ts'
import type { Config } from '../../platform/settings/config.ts'
import { codeOf, messageOf, StartError } from '../../platform/start-error.ts'
import { UPLOAD_MS } from '../connections/slow-uploads.ts'
import { newRequestId } from './request-head.ts'

// Time for a request head, and for pauses on a connection; no response takes longer than a send waiting for its slot
// and the provider.
const HEADERS_TIMEOUT_MS = 15_000
const CONNECTION_TIMEOUT_MS = 75_000
export const KEEP_ALIVE_TIMEOUT_MS = 65_000

/** HTTPS if there is a certificate. Sets every timeout explicitly. */
export async function serverFactory({ tls }: Pick<Config, 'tls'>): Promise<(handler: RequestListener) => Server> {
  const timeouts = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: UPLOAD_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: 5_000,
    // We refuse it with our own body.
    requireHostHeader: false,
  }
  const certificate = tls && (await readCertificate(tls))
  return (handler) => {
    const server = certificate
      ? createHttpsServer({ ...timeouts, ...certificate, handshakeTimeout: HEADERS_TIMEOUT_MS }, handler)
      : createHttpServer(timeouts, handler)
    return server.setTimeout(CONNECTION_TIMEOUT_MS).on('checkExpectation', handler)
  }
}

/** @throws {StartError} if a file cannot be read or the two do not match */
async function readCertificate({ certFile, keyFile }: NonNullable<Config['tls']>) {
  const read = (name: string, path: string) =>
    readFile(path).catch((error) => {
      throw new StartError(`${name}=${path} can't be read (${codeOf(error)}): correct its path or its rights`, error)
    })
  const certificate = { cert: await read('TLS_CERT_FILE', certFile), key: await read('TLS_KEY_FILE', keyFile) }
  try {
    createSecureContext(certificate)
  } catch (error) {
    throw new StartError(
      `TLS_CERT_FILE and TLS_KEY_FILE can't be used (${messageOf(error)}): both have to be PEM, and the key has to be the certificate's`,
      error,
    )
  }
  return certificate
}

export function refuseUnreadable(error: ConnectionError, socket: Socket): void {
  // Up to 64 KiB each, which would stay until the next collection: 250 of them trigger a full GC.
  const { rawPacket }: { rawPacket?: unknown } = error
  if (rawPacket instanceof Uint8Array && rawPacket.buffer instanceof ArrayBuffer) rawPacket.buffer.transfer(0)
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const refusal =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? lateRequest() : badRequest('The request is not valid HTTP')
  const body = JSON.stringify(refusal.body)
  socket.end(
    [
      `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
      `X-Request-Id: ${newRequestId()}`,
      `X-Error-Code: ${errorCodeOf(refusal.status, refusal.body)}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}
