import { StartError } from '../../../platform/start-error.ts'
import { type Tls, takeTls } from '../../tls.ts'
import { take, takeChoice } from '../../url-parameters.ts'
import { CHANNEL_BINDINGS, type ChannelBinding } from './channel-binding.ts'

/** A server: `host` is a name, an address, or the folder of a Unix socket. Absent: the defaults of libpq, PGHOST and PGPORT. */
export type Host = { host?: string; port?: number }

/** Which servers of an address are used. */
const SESSION_ATTRIBUTES = ['any', 'read-write', 'read-only', 'primary', 'standby'] as const
export type SessionAttributes = (typeof SESSION_ATTRIBUTES)[number]

export type DatabaseAddress = {
  hosts: Host[]
  user: string | undefined
  password: string | undefined
  database: string | undefined
  tls: Tls
  channelBinding: ChannelBinding
  attributes: SessionAttributes
  /** `pgbouncer=true`, the parameter that other clients have, too: connections share the sessions of the server. */
  isPooled: boolean
  /** Parameters of the login itself, which few poolers take. */
  startup: Record<string, string>
  /** Further parameters: settings of PostgreSQL. */
  settings: Record<string, string>
}

const POOLED = 'pgbouncer'
/** Parameters of libpq about its own sockets and GSSAPI. Parley has bounds of its own, and the server has no such settings. */
const CLIENT_ONLY = [
  ...['connect_timeout', 'keepalives', 'keepalives_idle', 'keepalives_interval', 'keepalives_count'],
  ...['fallback_application_name', 'krbsrvname', 'gsslib'],
]
const ADDRESS = /^postgres(?:ql)?:\/\/(?:([^@/?]*)@)?([^/?]*)(\/[^?]*)?(?:\?(.*))?$/

/**
 * Reads an address with libpq's meaning: several hosts, `host=/folder` for a Unix socket, `target_session_attrs`, and the
 * parameters of TLS. Addresses with several hosts are no URL to the platform's parser.
 *
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

/** The address with the parameter that says that its connections share the sessions of the server. */
export const pooledAddress = (url: string): string => `${url}${url.includes('?') ? '&' : '?'}${POOLED}=true`

/** A setting in the options of a server's command line: `-c name=value`, `-cname=value` or `--name=value`. */
const OPTION = /(?<!\S)(?:-c\s*|--)([\w.-]+)=((?:\\.|[^\\\s])*)/gs

/** Settings are set after the login, which a pooler would refuse with them. Others, such as `endpoint=`, are for a proxy. */
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

/** `host:port`; an address of IPv6 is in brackets. */
function readHost(place: string): Host {
  const [, host = '', port] = /^(.*?)(?::(\d+))?$/.exec(decode(place)) ?? []
  const name = host.replaceAll(/^\[|\]$/g, '')
  return { ...(name !== '' && { host: name }), ...(port !== undefined && { port: Number(port) }) }
}
