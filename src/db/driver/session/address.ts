import { StartError } from '../../../platform/start-error.ts'
import { type Tls, takeTls } from '../../tls.ts'
import { take, takeChoice } from '../../url-parameters.ts'
import { CHANNEL_BINDINGS, type ChannelBinding } from './channel-binding.ts'

export type Host = { host?: string; port?: number }

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
