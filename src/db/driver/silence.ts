import { createConnection } from 'node:net'
import type { Client } from 'pg'
import { monotonicMs } from '../../platform/clock.ts'
import { connectionError, type DatabaseSession } from './session.ts'

/** Share of the time-out spent probing whether the server answers others. */
const PROBE_SHARE = 0.4
const CHECKS = 4
/** A session silent for this many waits is closed, even if its server answers others. */
const SILENCES_MAX = 5

/** Probes the server when a session's answer takes too long; calls `onSilentServer` unless it answers the probe. */
export function watchSilence(session: DatabaseSession, timeoutMs: number, onSilentServer: () => void): void {
  const { client } = session
  const answerMs = timeoutMs * (1 - PROBE_SHARE)
  const silence = { sinceMs: monotonicMs(), bytesRead: 0, count: 0 }
  let isProbing = false
  const check = async () => {
    if (!session.isBusy || silence.bytesRead !== bytesReadBy(client)) {
      Object.assign(silence, { sinceMs: monotonicMs(), bytesRead: bytesReadBy(client), count: 0 })
    }
    if (isProbing || monotonicMs() - silence.sinceMs < answerMs) return
    isProbing = true
    const isServerAlive = await answersProbe(client, timeoutMs * PROBE_SHARE)
    isProbing = false
    if (session.lost.aborted || silence.bytesRead !== bytesReadBy(client)) return
    silence.sinceMs = monotonicMs()
    silence.count += 1
    if (!isServerAlive) onSilentServer()
    else if (silence.count === SILENCES_MAX) {
      session.destroy(connectionError('ETIMEDOUT', 'The session does not answer'))
    }
  }
  const timer = setInterval(check, answerMs / CHECKS).unref()
  session.lost.addEventListener('abort', () => clearInterval(timer))
}

function bytesReadBy({ connection: { stream } }: Client): number {
  return 'bytesRead' in stream ? Number(stream.bytesRead) : 0
}

/** PostgreSQL answers one byte, from a newly forked process. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** Returns whether a server answers a new connection in time, without a login: a frozen one does not. */
function answersProbe({ host, port }: Client, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port })
    const end = (answered: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(answered)
    }
    const timer = setTimeout(end, timeoutMs, false)
    socket.once('data', () => end(true))
    socket.once('close', () => end(false))
    socket.on('error', () => {})
    socket.write(SSL_REQUEST)
  })
}
