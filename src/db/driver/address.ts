import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { codeOf, StartError } from '../../platform/start-error.ts'

export type Host = { host?: string; port?: number }

const CHANNEL_BINDINGS = ['disable', 'prefer', 'require'] as const
type ChannelBinding = (typeof CHANNEL_BINDINGS)[number]
const SESSION_ATTRIBUTES = ['any', 'read-write', 'read-only', 'primary', 'standby'] as const
type SessionAttributes = (typeof SESSION_ATTRIBUTES)[number]

export type DatabaseAddress = {
  hosts: Host[]
  user: string | undefined
  password: string | undefined
  database: string | undefined
  tls: Tls
  channelBinding: ChannelBinding
  attributes: SessionAttributes
  /** `pgbouncer=true`, as in other clients: connections share server sessions. */
  isPooled: boolean
  /** Login parameters, which few poolers accept. */
  startup: Record<string, string>
  settings: Record<string, string>
}

const POOLED = 'pgbouncer'
/** Parley has its own bounds, and the server no such settings. */
const CLIENT_ONLY = [
  ...['connect_timeout', 'keepalives', 'keepalives_idle', 'keepalives_interval', 'keepalives_count'],
  ...['fallback_application_name', 'krbsrvname', 'gsslib'],
]
const ADDRESS = /^postgres(?:ql)?:\/\/(?:([^@/?]*)@)?([^/?]*)(\/[^?]*)?(?:\?(.*))?$/

/**
 * Parses an address with libpq's meaning, including several hosts, which `URL` can't parse.
 * @throws StartError when the address or a parameter can't be read
 */
export function readAddress(url: string): DatabaseAddress {
  const [isAddress, user = '', places = '', path = '', query = ''] = ADDRESS.exec(url) ?? []
  if (isAddress === undefined) throw new StartError('DATABASE_URL must begin with postgres://')
  const parameters = new URLSearchParams(query)
  const tls = takeTls(parameters) ?? false
  const channelBinding = takeChoice(parameters, 'channel_binding', CHANNEL_BINDINGS) ?? 'disable'
  const attributes = takeChoice(parameters, 'target_session_attrs', SESSION_ATTRIBUTES) ?? 'any'
  takeChoice(parameters, 'gssencmode', ['disable', 'prefer'])
  for (const name of CLIENT_ONLY) take(parameters, name)
  const isPooled = takeChoice(parameters, POOLED, ['true', 'false']) === 'true'
  const folder = take(parameters, 'host')
  const options = readOptions(take(parameters, 'options') ?? '')
  const hosts = places.split(',').map(readHost)
  const [name, password] = user.split(/:(.*)/s).map(decode)
  return {
    hosts: folder === undefined ? hosts : [{ ...hosts[0], host: folder }],
    user: name || undefined,
    password: password || undefined,
    database: decode(path.slice(1)) || undefined,
    tls,
    channelBinding,
    attributes,
    isPooled,
    startup: options.rest === '' ? {} : { options: options.rest },
    settings: { ...options.settings, ...Object.fromEntries(parameters) },
  }
}

export const pooledAddress = (url: string): string => `${url}${url.includes('?') ? '&' : '?'}${POOLED}=true`

/** A setting in server command-line options: `-c name=value`, `-cname=value` or `--name=value`. */
const OPTION = /(?<!\S)(?:-c\s*|--)([\w.-]+)=((?:\\.|[^\\\s])*)/gs

/**
 * Settings are set after the login, since poolers refuse them earlier. Others, such as `endpoint=`, are for a proxy.
 */
function readOptions(options: string): { settings: Record<string, string>; rest: string } {
  const settings = [...options.matchAll(OPTION)].map(([, name = '', value = '']) => [
    name.replaceAll('-', '_'),
    value.replaceAll(/\\(.)/gs, '$1'),
  ])
  return { settings: Object.fromEntries(settings), rest: options.replaceAll(OPTION, '').trim() }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new StartError('DATABASE_URL has a % that no two hexadecimal digits follow: write % as %25')
  }
}

function readHost(place: string): Host {
  const [, host = '', port] = /^(.*?)(?::(\d+))?$/.exec(decode(place)) ?? []
  const name = host.replaceAll(/^\[|\]$/g, '')
  return { ...(name !== '' && { host: name }), ...(port !== undefined && { port: Number(port) }) }
}

/** `prefer` continues unencrypted if the server has no TLS. */
type Tls = false | 'prefer' | ConnectionOptions

const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const

/**
 * Takes the TLS parameters out of an address, as libpq does: `sslmode=require` ignores the certificate without
 * `sslrootcert`; `verify-ca` checks the issuer, `verify-full` also the host name; `sslrootcert` alone means
 * `verify-full`.
 * @throws StartError when a file can't be read, or the mode is unknown
 */
function takeTls(parameters: URLSearchParams): Tls | undefined {
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

/** Removes and returns a parameter. The last of several wins, as in libpq. */
function take(parameters: URLSearchParams, name: string): string | undefined {
  const value = parameters.getAll(name).at(-1)
  parameters.delete(name)
  return value
}

/** Removes and returns an enumerated parameter. Throws StartError for an unknown value. */
function takeChoice<Choice extends string>(
  parameters: URLSearchParams,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const value = take(parameters, name)
  if (value === undefined) return undefined
  const choice = choices.find((one) => one === value)
  if (choice === undefined) {
    throw new StartError(`${name} in DATABASE_URL must be one of ${choices.join(', ')}, not ${value}`)
  }
  return choice
}
