import { errors } from 'undici'
import { DeadlinePassed } from '../../platform/outgoing/start-request.ts'
import { AddressNotPublic } from './address/address-guard.ts'

type AttemptFailure = { kind: 'unreachable' | 'blocked'; errorMessage: string }

export class PortNotAllowed extends Error {
  constructor() {
    super("the receiver's port is not 80, 443 or one of 1024 to 65535")
    this.name = 'PortNotAllowed'
  }
}
export class TooManyInterimAnswers extends Error {}
/** Not a failure. */
export class AnswerCut extends Error {}

const TLS_CODE =
  /^(?:ERR_TLS|ERR_SSL|CERT_|CRL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERROR_IN_|HOSTNAME_MISMATCH|INVALID_CA|EPROTO)/
const BROKEN_CODES = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'])

/** Must use error codes only: error texts contain addresses, which would reveal the internal network. */
export function attemptFailure(error: unknown, statusCode: number | null, timeoutMs: number): AttemptFailure {
  if (error instanceof AddressNotPublic || error instanceof PortNotAllowed)
    return { kind: 'blocked', errorMessage: error.message }
  return { kind: 'unreachable', errorMessage: describe(error, statusCode, `${timeoutMs / 1000} s`) }
}

function describe(error: unknown, statusCode: number | null, limit: string): string {
  if (error instanceof TooManyInterimAnswers) return 'the receiver sent too many interim (1xx) answers'
  if (error instanceof DeadlinePassed) {
    if (statusCode === null) return `the receiver did not answer within ${limit}`
    return `the receiver's answer (${statusCode}) was not complete within ${limit}`
  }
  if (error instanceof errors.HTTPParserError) return "the receiver's answer is not valid HTTP"
  const { code, syscall } = systemError(error)
  if (/^(?:query|getaddrinfo)/.test(syscall)) return `the receiver's name could not be resolved (${code})`
  if (code === 'ENOTFOUND') return "the receiver's name could not be resolved (ENOTFOUND)"
  if (code === 'ECONNREFUSED') return 'the receiver refused the connection (ECONNREFUSED)'
  if (code === 'UND_ERR_ABORTED') return 'the proxy refused the connection to the receiver'
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT')
    return `no connection to the receiver within ${limit} (${code})`
  if (TLS_CODE.test(code)) return `the TLS connection to the receiver failed (${code})`
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return "the headers of the receiver's answer are too large"
  if (BROKEN_CODES.has(code)) {
    if (statusCode === null) return 'the receiver closed the connection before it answered'
    return `the receiver closed the connection in the middle of its answer (${statusCode})`
  }
  return `the request to the receiver failed (${code})`
}

function systemError(error: unknown): { code: string; syscall: string } {
  if (typeof error !== 'object' || error === null) return { code: 'UNKNOWN', syscall: '' }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  const syscall = 'syscall' in error && typeof error.syscall === 'string' ? error.syscall : ''
  if (code === undefined && error instanceof AggregateError) return systemError(error.errors[0])
  return { code: code ?? 'UNKNOWN', syscall }
}
