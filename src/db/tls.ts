import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { codeOf, StartError } from '../platform/start-error.ts'
import { take, takeChoice } from './url-parameters.ts'

/** `prefer` continues unencrypted if the server has no TLS. */
export type Tls = false | 'prefer' | ConnectionOptions

const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const

/**
 * Takes the TLS parameters out of an address, as libpq does: `sslmode=require` ignores the certificate without
 * `sslrootcert`; `verify-ca` checks the issuer, `verify-full` also the host name; `sslrootcert` alone means
 * `verify-full`.
 * @throws StartError when a file can't be read, or the mode is unknown
 */
export function takeTls(parameters: URLSearchParams): Tls | undefined {
  const mode = takeChoice(parameters, 'sslmode', MODES)
  const [root, cert, key] = ['sslrootcert', 'sslcert', 'sslkey'].map((name) => take(parameters, name))
  if (mode === undefined && root === undefined && cert === undefined) return undefined
  if (mode === 'disable') return false
  const files = {
    ...(root !== undefined && root !== 'system' && { ca: read('sslrootcert', root) }),
    ...(cert !== undefined && { cert: read('sslcert', cert) }),
    ...(key !== undefined && { key: read('sslkey', key) }),
  }
  if (root === undefined) {
    if (mode === 'allow' || mode === 'prefer') return 'prefer'
    if (mode === 'require' || mode === undefined) return { ...files, rejectUnauthorized: false }
  }
  const checksName = root === 'system' || mode === undefined || mode === 'verify-full'
  return { ...files, ...(!checksName && { checkServerIdentity: () => undefined }) }
}

function read(name: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new StartError(
      `The file ${path} of ${name} in DATABASE_URL can't be read (${codeOf(error)}): correct its path or its rights`,
      error,
    )
  }
}
