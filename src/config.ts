import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import ipaddr from 'ipaddr.js'

/** Schemes of mail servers' addresses, as `SMTP_URL` and `smtpUrl` name them. */
export const MAIL_SCHEMES = ['smtp:', 'smtps:', 'postmark:', 'postmark+http:'] as const

export type Role = 'all' | 'api' | 'worker'
export type Window = 'strict' | 'provider'

/** Everything that can be set, read once from the environment and never changed. Units stand last in the names. */
export type Config = {
  readonly port: number
  readonly host: string
  /** The address that customers of the API use; absent, it is made from host and port. */
  readonly baseUrl: string
  /** Absent: the embedded server in `dataDir`. */
  readonly databaseUrl: string | undefined
  readonly dataDir: string
  /** Off: a start only checks that the schema is this version's. */
  readonly migrate: boolean
  readonly role: Role
  /** Processes that answer on the port; each does what `role` says. */
  readonly processes: number
  readonly sandbox: boolean
  readonly sandboxPort: number
  /** The web console: its pages and its API. */
  readonly console: boolean
  /** First encrypts, all decrypt; absent on the embedded default, where one is made and kept in `dataDir`. */
  readonly encryptionKeys: readonly string[]
  /** Absent on the embedded default, where one is made and kept in `dataDir`. */
  readonly adminToken: string | undefined
  readonly logLevel: string
  /** The range of company ids of this installation. */
  readonly cell: number
  /** Days that envelopes, deliveries and attempts are kept. */
  readonly deliveryLogDays: number
  /** How long a process that is asked to stop goes on answering, so that proxies can use others. */
  readonly stopDelayMs: number
  readonly serviceName: string
  readonly apiKeyPrefix: string
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
  readonly trustProxy: readonly string[]
  readonly plainHttp: 'loopback' | 'reject'
  /** Bearer of `/metrics`; absent, loopback and private peers read them without one. */
  readonly metricsToken: string | undefined
  /** Where traces go (OTLP over HTTP); absent: there are none. The SDK reads this and its other settings itself. */
  readonly otlpEndpoint: string | undefined
  readonly marketingWindow: Window
  readonly sessionWindow: Window
  readonly whatsappVerifyToken: string | undefined
  readonly graphVersion: string
  readonly providerTimeoutMs: number
  readonly redisUrl: string | undefined
  /** The mail server for companies that have none of their own; absent, those cannot send email. */
  readonly smtpUrl: string | undefined
  /** From this moment every legacy address is gone. */
  readonly legacyRemovalDate: Date
  /** The only host name that serves `/api/*`, and that serves no `/public/*`; absent, all serve both. */
  readonly legacyHost: string | undefined
  /** Where media are kept; absent: in `dataDir`. Holds a secret. */
  readonly mediaBucketUrl: string | undefined
  /** Days that messages and emails are kept; absent: they are not deleted. */
  readonly messageDays: number | undefined
  readonly emailDays: number | undefined
  /** Deliveries may go to private addresses and over plain http: for local work. */
  readonly webhookAllowPrivate: boolean
}

/** All faults of the environment at once: one message names every setting that has to change. */
export class ConfigError extends Error {
  readonly faults: readonly string[]
  constructor(faults: readonly string[]) {
    super(`The settings are not valid:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`)
    this.name = 'ConfigError'
    this.faults = faults
  }
}

const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '::1'])
const OLDEST_GRAPH_VERSION = 22
const MAX_PROCESSES = 64
/** Two cores are left to PostgreSQL and the system; more than eight processes are asked for by name. */
const defaultProcesses = (cores: number): number => Math.min(Math.max(cores - 2, 1), 8)

/**
 * Reads the settings (decisions: Starting it). Pure: the environment comes in, a frozen Config goes out,
 * or a ConfigError that names every fault.
 */
export function readConfig(env: Record<string, string | undefined>, cores: number = availableParallelism()): Config {
  const faults: string[] = []
  const read = reader(env, faults)

  const databaseUrl = read.url('DATABASE_URL', ['postgres:', 'postgresql:'])
  const port = read.integer('PORT', 3000, 0, 65535)
  const host = read.text('HOST', '127.0.0.1')
  const certFile = read.optional('TLS_CERT_FILE')
  const keyFile = read.optional('TLS_KEY_FILE')
  const loopback = isLoopbackHost(host)

  if ((certFile === undefined) !== (keyFile === undefined)) {
    faults.push('TLS_CERT_FILE and TLS_KEY_FILE go together: set both or neither')
  }
  if (databaseUrl !== undefined && !read.optional('ENCRYPTION_KEY')) {
    faults.push('ENCRYPTION_KEY must be set with DATABASE_URL: 32 random bytes in base64 (openssl rand -base64 32)')
  }
  if (databaseUrl !== undefined && !read.optional('ADMIN_TOKEN')) {
    faults.push('ADMIN_TOKEN must be set with DATABASE_URL: at least 32 random characters (openssl rand -hex 32)')
  }
  const configuredBaseUrl = read.url('BASE_URL', ['http:', 'https:'])?.replace(/\/+$/, '')
  const trustProxy = read.addresses('TRUST_PROXY')
  // Behind a proxy every peer is local, also for requests that came to the proxy over plain HTTP.
  const isLocalWork = loopback && trustProxy.length === 0 && !configuredBaseUrl?.toLowerCase().startsWith('https:')
  const plainHttp = read.oneOf('PLAIN_HTTP', ['loopback', 'reject'], isLocalWork ? 'loopback' : 'reject')
  if (plainHttp === 'loopback' && !loopback) {
    faults.push(
      `PLAIN_HTTP=loopback needs HOST to be a loopback address, not ${host}: leave PLAIN_HTTP out, and set TLS_CERT_FILE and TLS_KEY_FILE, or TRUST_PROXY to the address of your proxy`,
    )
  }

  const sandbox = read.oneOf('SANDBOX', ['on', 'off'], databaseUrl === undefined ? 'on' : 'off') === 'on'
  const tls = certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined
  const config: Config = {
    port,
    host,
    baseUrl: configuredBaseUrl ?? ownAddress(tls !== undefined, host, port),
    databaseUrl,
    dataDir: read.text('DATA_DIR', './data'),
    migrate: read.oneOf('MIGRATE', ['on', 'off'], 'on') === 'on',
    role: read.oneOf('ROLE', ['all', 'api', 'worker'], 'all'),
    processes: read.integer('PROCESSES', defaultProcesses(cores), 1, MAX_PROCESSES),
    sandbox,
    console: read.oneOf('CONSOLE', ['on', 'off'], 'on') === 'on',
    sandboxPort: read.integer('SANDBOX_PORT', port === 0 ? 0 : Math.min(port + 1, 65535), 0, 65535),
    encryptionKeys: read.encryptionKeys('ENCRYPTION_KEY'),
    adminToken: read.secret('ADMIN_TOKEN', 32),
    logLevel: read.oneOf('LOG_LEVEL', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'info'),
    stopDelayMs: read.integer('STOP_DELAY_MS', 1_000, 0, 60_000),
    cell: read.integer('CELL', 0, 0, 999),
    deliveryLogDays: read.integer('DELIVERY_LOG_DAYS', 30, 1, 3_650),
    serviceName: read.matching('SERVICE_NAME', 'Service', /^[A-Za-z][A-Za-z0-9]{0,31}$/, '1 to 32 letters and digits'),
    apiKeyPrefix: read.matching(
      'API_KEY_PREFIX',
      'PARLEY',
      /^[A-Za-z0-9]{1,32}$/,
      '1 to 32 letters and digits, no hyphen',
    ),
    tls,
    trustProxy,
    plainHttp,
    metricsToken: read.secret('METRICS_TOKEN', 16),
    otlpEndpoint: read.url('OTEL_EXPORTER_OTLP_ENDPOINT', ['http:', 'https:']),
    marketingWindow: read.oneOf('MARKETING_WINDOW', ['strict', 'provider'], 'strict'),
    sessionWindow: read.oneOf('SESSION_WINDOW', ['strict', 'provider'], 'strict'),
    whatsappVerifyToken: read.optional('WHATSAPP_VERIFY_TOKEN'),
    graphVersion: read.graphVersion('GRAPH_VERSION', 'v25.0'),
    providerTimeoutMs: read.integer('PROVIDER_TIMEOUT_MS', 10_000, 100, 30_000),
    redisUrl: read.url('REDIS_URL', ['redis:', 'rediss:']),
    smtpUrl: read.url('SMTP_URL', MAIL_SCHEMES),
    legacyRemovalDate: read.date('LEGACY_REMOVAL_DATE', '2026-06-01'),
    legacyHost: read.hostName('LEGACY_HOST'),
    mediaBucketUrl: read.bucketUrl('MEDIA_BUCKET_URL'),
    messageDays: read.optionalInteger('MESSAGE_DAYS', 8, 36_500),
    emailDays: read.optionalInteger('EMAIL_DAYS', 30, 36_500),
    webhookAllowPrivate: read.oneOf('WEBHOOK_ALLOW_PRIVATE', ['true', 'false'], sandbox ? 'true' : 'false') === 'true',
  }
  if (faults.length > 0) throw new ConfigError(faults)
  return Object.freeze(config)
}

export const isLoopbackHost = (host: string): boolean =>
  LOOPBACK_HOSTS.has(host) || (isIP(host) !== 0 && ipaddr.process(host).range() === 'loopback')

function ownAddress(https: boolean, host: string, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `${https ? 'https' : 'http'}://${name}:${port}`
}

/** Readers for one kind of value each; a fault is noted and the default returned, so that all faults are found. */
function reader(env: Record<string, string | undefined>, faults: string[]) {
  const optional = (name: string): string | undefined => {
    const value = env[name]?.trim()
    return value === undefined || value === '' ? undefined : value
  }
  const text = (name: string, fallback: string): string => optional(name) ?? fallback

  const integer = (name: string, fallback: number, min: number, max: number): number => {
    const value = optional(name)
    if (value === undefined) return fallback
    const number = /^[0-9]{1,9}$/.test(value) ? Number(value) : Number.NaN
    if (number >= min && number <= max) return number
    faults.push(`${name} must be a whole number from ${min} to ${max}, not ${value}`)
    return fallback
  }

  const optionalInteger = (name: string, min: number, max: number): number | undefined =>
    optional(name) === undefined ? undefined : integer(name, min, min, max)

  const oneOf = <T extends string>(name: string, allowed: readonly T[], fallback: T): T => {
    const value = optional(name)
    if (value === undefined) return fallback
    const found = allowed.find((word) => word === value)
    if (found === undefined) faults.push(`${name} must be one of ${allowed.join(', ')}, not ${value}`)
    return found ?? fallback
  }

  const matching = (name: string, fallback: string, pattern: RegExp, rule: string): string => {
    const value = text(name, fallback)
    if (pattern.test(value)) return value
    faults.push(`${name} must be ${rule}`)
    return fallback
  }

  const url = (name: string, protocols: readonly string[]): string | undefined => {
    const value = optional(name)
    if (value === undefined) return undefined
    // Several database hosts separated by commas are no URL to the parser; the first one stands for all.
    const parsed = URL.parse(value.replace(/,[^/?]*/, ''))
    if (parsed !== null && protocols.includes(parsed.protocol)) return value
    faults.push(`${name} must be an address that begins with ${protocols.map((one) => `${one}//`).join(' or ')}`)
    return undefined
  }

  // The message never repeats the value: it holds the secret.
  const bucketUrl = (name: string): string | undefined => {
    const value = optional(name)
    const parsed = value === undefined ? undefined : URL.parse(value)
    if (parsed === undefined) return undefined
    const isWhole =
      parsed !== null &&
      /^https?:$/.test(parsed.protocol) &&
      /^\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\/?$/.test(parsed.pathname) &&
      (parsed.username === '') === (parsed.password === '')
    if (isWhole) return value
    faults.push(`${name} must be https://KEY:SECRET@HOST/BUCKET?region=REGION, key and secret percent-encoded`)
    return undefined
  }

  const secret = (name: string, minLength: number): string | undefined => {
    const value = optional(name)
    if (value !== undefined && value.length < minLength)
      faults.push(`${name} must have at least ${minLength} characters`)
    return value
  }

  const encryptionKeys = (name: string): string[] => {
    const keys = (optional(name) ?? '')
      .split(',')
      .map((key) => key.trim())
      .filter((key) => key !== '')
    if (keys.some((key) => Buffer.from(key, 'base64').length !== 32)) {
      faults.push(`${name} must be 32 bytes in base64; several separated by commas, the first one encrypts`)
    }
    return keys
  }

  const addresses = (name: string): string[] => {
    const list = (optional(name) ?? '')
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
    for (const item of list) {
      if (!ipaddr.isValid(item) && !ipaddr.isValidCIDR(item)) faults.push(`${name}: ${item} is no address and no CIDR`)
    }
    return list
  }

  const graphVersion = (name: string, fallback: string): string => {
    const value = text(name, fallback)
    const major = /^v([0-9]{1,3})\.[0-9]$/.exec(value)?.[1]
    if (major !== undefined && Number(major) >= OLDEST_GRAPH_VERSION) return value
    faults.push(`${name} must be a Graph API version of at least v${OLDEST_GRAPH_VERSION}.0, such as v25.0`)
    return fallback
  }

  const date = (name: string, fallback: string): Date => {
    const value = text(name, fallback)
    const midnight = new Date(`${value}T00:00:00Z`)
    if (/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(value) && midnight.toJSON()?.startsWith(value)) return midnight
    faults.push(`${name} must be a date such as ${fallback}, not ${value}`)
    return new Date(`${fallback}T00:00:00Z`)
  }

  const hostName = (name: string): string | undefined => {
    const value = optional(name)?.toLowerCase()
    if (value === undefined || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(value)) return value
    faults.push(`${name} must be a host name without scheme, port or path, not ${value}`)
    return undefined
  }

  return {
    optional,
    text,
    integer,
    optionalInteger,
    oneOf,
    matching,
    url,
    secret,
    encryptionKeys,
    addresses,
    graphVersion,
    date,
    hostName,
    bucketUrl,
  }
}
