import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Proxies } from '../outgoing/proxies.ts'
import { createSettingReader, type SettingReader } from './setting-reader.ts'

export const MAIL_SCHEMES = ['smtp:', 'smtps:', 'postmark:', 'postmark+http:'] as const

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

export type Role = 'all' | 'api' | 'worker'
export type Window = 'strict' | 'provider'

export type Config = {
  readonly port: number
  readonly host: string
  readonly baseUrl: string
  readonly databaseUrl: string | undefined
  readonly dataDir: string
  readonly migrate: boolean
  readonly allowsNewerSchema: boolean
  readonly role: Role
  readonly processes: number
  readonly sandbox: boolean
  readonly sandboxPort: number
  readonly console: boolean
  /** The first key encrypts, all decrypt; absent: a generated key in `dataDir`. */
  readonly encryptionKeys: readonly string[]
  readonly adminToken: string | undefined
  /** Default: `info`, or `warn` at a terminal, so that the greeting stays in view. */
  readonly logLevel: string
  readonly cell: number
  readonly deliveryLogDays: number
  /** Unfinished deliveries are dead-lettered after so long. */
  readonly deliveryDeadlineHours: number
  /** Maximum waiting deliveries per company, except for messages. */
  readonly webhookBacklog: number
  /** Keeps answering for so long after a stop request, so that proxies can switch. */
  readonly stopDelayMs: number
  readonly serviceName: string
  readonly apiKeyPrefix: string
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
  readonly trustProxy: readonly string[]
  readonly plainHttp: 'loopback' | 'reject'
  /** Bearer token for `/metrics`; absent: loopback and private peers need none. */
  readonly metricsToken: string | undefined
  /** Absent: no traces. The SDK reads this and its other settings itself. */
  readonly otlpEndpoint: string | undefined
  readonly marketingWindow: Window
  readonly sessionWindow: Window
  readonly whatsappVerifyToken: string | undefined
  readonly graphVersion: string
  readonly providerTimeoutMs: number
  readonly redisUrl: string | undefined
  readonly smtpUrl: string | undefined
  /** For return paths and accepting bounces; absent: bounces go to the senders. */
  readonly bounceDomain: string | undefined
  readonly bounceSmtpPort: number | undefined
  readonly bounceSmtpHost: string
  readonly mailReportsSecret: string | undefined
  readonly legacyRemovalDate: Date
  /** The only host for `/api/*`, without `/public/*`; absent: every host serves both. */
  readonly legacyHost: string | undefined
  /** Absent: media are in `dataDir`. Contains a secret. */
  readonly mediaBucketUrl: string | undefined
  /** Previous bucket, read until copied. Contains a secret. */
  readonly mediaEarlierBucketUrl: string | undefined
  readonly messageDays: number | undefined
  readonly emailDays: number | undefined
  /** Local work only: allows private addresses and plain http. */
  readonly webhookAllowPrivate: boolean
  readonly proxies: Proxies
  /** May contain a password. */
  readonly webhookProxy: string | undefined
}

/** Reports all faults at once. */
export class ConfigError extends Error {
  readonly faults: readonly string[]
  constructor(faults: readonly string[]) {
    super(`The settings are not valid:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`)
    this.name = 'ConfigError'
    this.faults = faults
  }
}

const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '::1'])
const PROXY_SCHEMES = ['http:', 'https:']
const MAX_PROCESSES = 64
const KEY_PREFIX = /^[A-Za-z0-9]{1,32}$/

/** Reads the settings (decisions: Starting). Pure. Throws ConfigError with all faults. */
export function readConfig(
  env: Record<string, string | undefined>,
  isTerminal: boolean = process.stdout.isTTY,
): Config {
  const faults: string[] = []
  const read = createSettingReader(env, faults)

  const databaseUrl = read.url('DATABASE_URL', ['postgres:', 'postgresql:'])
  checkSecretsAreSet(read, databaseUrl, faults)
  const port = read.integer('PORT', 3000, 0, 65535)
  const host = read.text('HOST', '127.0.0.1')
  const tls = readTls(read, faults)
  const configuredBaseUrl = read.url('BASE_URL', ['http:', 'https:'])?.replace(/\/+$/, '')
  const trustProxy = read.addresses('TRUST_PROXY')
  // Behind a proxy every peer is local, even for plain HTTP requests to the proxy.
  const isLocalWork = trustProxy.length === 0 && !configuredBaseUrl?.toLowerCase().startsWith('https:')
  const sandbox = read.oneOf('SANDBOX', ['on', 'off'], databaseUrl === undefined ? 'on' : 'off') === 'on'
  const config: Config = {
    port,
    host,
    baseUrl: configuredBaseUrl ?? ownAddress(tls !== undefined, host, port),
    databaseUrl,
    dataDir: read.text('DATA_DIR', './data'),
    migrate: read.oneOf('MIGRATE', ['on', 'off'], 'on') === 'on',
    allowsNewerSchema: read.oneOf('NEWER_SCHEMA', ['refuse', 'allow'], 'refuse') === 'allow',
    role: read.oneOf('ROLE', ['all', 'api', 'worker'], 'all'),
    processes: read.integer('PROCESSES', 1, 1, MAX_PROCESSES),
    sandbox,
    console: read.oneOf('CONSOLE', ['on', 'off'], 'on') === 'on',
    sandboxPort: read.integer('SANDBOX_PORT', port === 0 ? 0 : Math.min(port + 1, 65535), 0, 65535),
    encryptionKeys: read.encryptionKeys('ENCRYPTION_KEY'),
    adminToken: read.secret('ADMIN_TOKEN', 32),
    logLevel: read.oneOf('LOG_LEVEL', LOG_LEVELS, isTerminal ? 'warn' : 'info'),
    stopDelayMs: read.integer('STOP_DELAY_MS', 1_000, 0, 60_000),
    cell: read.integer('CELL', 0, 0, 999),
    ...readDeliveryBounds(read, faults),
    serviceName: read.matching('SERVICE_NAME', 'Service', /^[A-Za-z][A-Za-z0-9]{0,31}$/, '1 to 32 letters and digits'),
    apiKeyPrefix: read.matching('API_KEY_PREFIX', 'PARLEY', KEY_PREFIX, '1 to 32 letters and digits, no hyphen'),
    tls,
    trustProxy,
    plainHttp: readPlainHttp(read, host, isLocalWork, faults),
    metricsToken: read.secret('METRICS_TOKEN', 16),
    otlpEndpoint: read.url('OTEL_EXPORTER_OTLP_ENDPOINT', ['http:', 'https:']),
    marketingWindow: read.oneOf('MARKETING_WINDOW', ['strict', 'provider'], 'strict'),
    sessionWindow: read.oneOf('SESSION_WINDOW', ['strict', 'provider'], 'strict'),
    whatsappVerifyToken: read.optional('WHATSAPP_VERIFY_TOKEN'),
    graphVersion: read.graphVersion('GRAPH_VERSION', 'v25.0'),
    providerTimeoutMs: read.integer('PROVIDER_TIMEOUT_MS', 10_000, 100, 30_000),
    redisUrl: read.url('REDIS_URL', ['redis:', 'rediss:']),
    ...readMail(read, host, faults),
    legacyRemovalDate: read.date('LEGACY_REMOVAL_DATE', '2026-06-01'),
    legacyHost: read.hostName('LEGACY_HOST'),
    mediaBucketUrl: read.bucketUrl('MEDIA_BUCKET_URL'),
    mediaEarlierBucketUrl: read.bucketUrl('MEDIA_EARLIER_BUCKET_URL'),
    messageDays: read.optionalInteger('MESSAGE_DAYS', 8, 36_500),
    emailDays: read.optionalInteger('EMAIL_DAYS', 30, 36_500),
    webhookAllowPrivate: read.oneOf('WEBHOOK_ALLOW_PRIVATE', ['true', 'false'], sandbox ? 'true' : 'false') === 'true',
    proxies: readProxies(read),
    webhookProxy: read.url('WEBHOOK_PROXY', PROXY_SCHEMES),
  }
  if (faults.length > 0) throw new ConfigError(faults)
  return Object.freeze(config)
}

/** A delivery must end before its day is dropped, DELIVERY_LOG_DAYS after the day's end. */
function readDeliveryBounds(
  read: SettingReader,
  faults: string[],
): Pick<Config, 'deliveryLogDays' | 'deliveryDeadlineHours' | 'webhookBacklog'> {
  const deliveryLogDays = read.integer('DELIVERY_LOG_DAYS', 30, 1, 3_650)
  const deliveryDeadlineHours = read.decimal('DELIVERY_DEADLINE_HOURS', 24, 0.01, 168)
  if (deliveryDeadlineHours > deliveryLogDays * 24) {
    faults.push('DELIVERY_DEADLINE_HOURS must not be longer than DELIVERY_LOG_DAYS')
  }
  return {
    deliveryLogDays,
    deliveryDeadlineHours,
    webhookBacklog: read.integer('WEBHOOK_BACKLOG', 500_000, 100, 100_000_000),
  }
}

function readMail(
  read: SettingReader,
  host: string,
  faults: string[],
): Pick<Config, 'smtpUrl' | 'bounceDomain' | 'bounceSmtpPort' | 'bounceSmtpHost' | 'mailReportsSecret'> {
  const bounceDomain = read.hostName('BOUNCE_DOMAIN')
  const bounceSmtpPort = read.optionalInteger('BOUNCE_SMTP_PORT', 0, 65_535)
  if ((bounceDomain === undefined) !== (bounceSmtpPort === undefined)) {
    faults.push('BOUNCE_DOMAIN and BOUNCE_SMTP_PORT go together: set both or neither')
  }
  return {
    smtpUrl: read.url('SMTP_URL', MAIL_SCHEMES),
    bounceDomain,
    bounceSmtpPort,
    bounceSmtpHost: read.text('BOUNCE_SMTP_HOST', host),
    mailReportsSecret: read.secret('MAIL_REPORTS_SECRET', 16),
  }
}

const readProxies = (read: SettingReader): Proxies => ({
  http: read.url('http_proxy', PROXY_SCHEMES) ?? read.url('HTTP_PROXY', PROXY_SCHEMES),
  https: read.url('https_proxy', PROXY_SCHEMES) ?? read.url('HTTPS_PROXY', PROXY_SCHEMES),
  except: read.optional('no_proxy') ?? read.text('NO_PROXY', ''),
})

/** Only the embedded default can generate the secrets. */
function checkSecretsAreSet(read: SettingReader, databaseUrl: string | undefined, faults: string[]): void {
  if (databaseUrl === undefined) return
  if (!read.optional('ENCRYPTION_KEY')) {
    faults.push('ENCRYPTION_KEY must be set with DATABASE_URL: 32 random bytes in base64 (openssl rand -base64 32)')
  }
  if (!read.optional('ADMIN_TOKEN')) {
    faults.push('ADMIN_TOKEN must be set with DATABASE_URL: at least 32 random characters (openssl rand -hex 32)')
  }
}

function readTls(read: SettingReader, faults: string[]): Config['tls'] {
  const certFile = read.optional('TLS_CERT_FILE')
  const keyFile = read.optional('TLS_KEY_FILE')
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile }
  if (certFile !== keyFile) faults.push('TLS_CERT_FILE and TLS_KEY_FILE go together: set both or neither')
  return undefined
}

/** Allowed on a loopback address only; on by default only without a proxy and https base URL. */
function readPlainHttp(read: SettingReader, host: string, isLocalWork: boolean, faults: string[]): Config['plainHttp'] {
  const isLoopback = isLoopbackHost(host)
  const plainHttp = read.oneOf('PLAIN_HTTP', ['loopback', 'reject'], isLoopback && isLocalWork ? 'loopback' : 'reject')
  if (plainHttp === 'loopback' && !isLoopback) {
    faults.push(
      `PLAIN_HTTP=loopback needs HOST to be a loopback address, not ${host}: leave PLAIN_HTTP out, and set TLS_CERT_FILE and TLS_KEY_FILE, or TRUST_PROXY to the address of your proxy`,
    )
  }
  return plainHttp
}

export const isLoopbackHost = (host: string): boolean =>
  LOOPBACK_HOSTS.has(host) || (isIP(host) !== 0 && ipaddr.process(host).range() === 'loopback')

function ownAddress(https: boolean, host: string, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `${https ? 'https' : 'http'}://${name}:${port}`
}
