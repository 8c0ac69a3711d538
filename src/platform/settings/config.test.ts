import { describe, expect, test } from 'vitest'
import { ConfigError, isLoopbackHost, readConfig } from './config.ts'

type Env = Record<string, string>

const BUCKET = 'https://key:a%2Fb@store:9000/our-media?region=eu-west-1'
const KEY = Buffer.alloc(32, 1).toString('base64')
const OWN_DATABASE = { DATABASE_URL: 'postgres://u:p@db/parley', ENCRYPTION_KEY: KEY, ADMIN_TOKEN: 'a'.repeat(32) }

function faultsOf(env: Env): readonly string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.faults
    throw error
  }
}

test('with nothing set it is the first run: embedded database, sandbox, loopback', () => {
  expect(readConfig({})).toMatchObject({
    port: 3000,
    host: '127.0.0.1',
    baseUrl: 'http://127.0.0.1:3000',
    databaseUrl: undefined,
    dataDir: './data',
    role: 'all',
    sandbox: true,
    sandboxPort: 3001,
    encryptionKeys: [],
    adminToken: undefined,
    plainHttp: 'loopback',
    trustProxy: [],
  })
  expect(Object.isFrozen(readConfig({}))).toBe(true)
})

test('one process serves unless PROCESSES asks for more', () => {
  expect(readConfig({}).processes).toBe(1)
  expect(readConfig({ PROCESSES: '5' }).processes).toBe(5)
})

test('with a database of one’s own there is no sandbox unless asked for', () => {
  expect(readConfig(OWN_DATABASE).sandbox).toBe(false)
  expect(readConfig({ ...OWN_DATABASE, SANDBOX: 'on' }).sandbox).toBe(true)
})

test('empty and blank count as not set', () => {
  expect(readConfig({ PORT: '', DATABASE_URL: ' ', ROLE: '' })).toEqual(readConfig({}))
})

describe('taken', () => {
  const taken: [string, Env, object][] = [
    ['any free port', { PORT: '0' }, { port: 0, sandboxPort: 0 }],
    ['the highest port', { PORT: '65535' }, { port: 65535, sandboxPort: 65535 }],
    [
      'a base address without its last slash',
      { BASE_URL: 'https://api.example/x/' },
      { baseUrl: 'https://api.example/x' },
    ],
    ['every address of the machine', { HOST: '0.0.0.0' }, { baseUrl: 'http://localhost:3000', plainHttp: 'reject' }],
    ['a loopback address of version 6', { HOST: '::1' }, { baseUrl: 'http://[::1]:3000', plainHttp: 'loopback' }],
    ['no plain HTTP behind a proxy', { TRUST_PROXY: '127.0.0.1' }, { plainHttp: 'reject' }],
    ['no plain HTTP under an https address', { BASE_URL: 'HTTPS://api.example' }, { plainHttp: 'reject' }],
    [
      'plain HTTP from this machine where it is asked for',
      { BASE_URL: 'https://api.example', PLAIN_HTTP: 'loopback' },
      { plainHttp: 'loopback' },
    ],
    ['plain HTTP on a plain address', { BASE_URL: 'http://parley.local' }, { plainHttp: 'loopback' }],
    ['a token for the metrics', { METRICS_TOKEN: 'x'.repeat(16) }, { metricsToken: 'x'.repeat(16) }],
    ['a certificate', { TLS_CERT_FILE: 'c', TLS_KEY_FILE: 'k' }, { baseUrl: 'https://127.0.0.1:3000' }],
    ['keys to rotate', { ENCRYPTION_KEY: `${KEY}, ${KEY}` }, { encryptionKeys: [KEY, KEY] }],
    ['proxies', { TRUST_PROXY: '10.0.0.0/8, ::1' }, { trustProxy: ['10.0.0.0/8', '::1'] }],
    ['a role', { ROLE: 'worker' }, { role: 'worker' }],
    ['a newer Graph version', { GRAPH_VERSION: 'v30.0' }, { graphVersion: 'v30.0' }],
    ['Redis', { REDIS_URL: 'rediss://cache:6380' }, { redisUrl: 'rediss://cache:6380' }],
    ['a bucket', { MEDIA_BUCKET_URL: BUCKET }, { mediaBucketUrl: BUCKET }],
    [
      'a bucket by the role of the machine',
      { MEDIA_BUCKET_URL: 'https://s3/media' },
      { mediaBucketUrl: 'https://s3/media' },
    ],
  ]
  test.each(taken)('%s', (_, env, expected) => {
    expect(readConfig(env)).toMatchObject(expected)
  })

  test('several database hosts', () => {
    const url = 'postgres://u:p@one:5432,two:5433/parley?target_session_attrs=primary'
    expect(readConfig({ ...OWN_DATABASE, DATABASE_URL: url }).databaseUrl).toBe(url)
  })
})

describe('refused', () => {
  const refused: [Env, string][] = [
    [{ MEDIA_BUCKET_URL: 's3://key:secret@store/media' }, 'MEDIA_BUCKET_URL must be'],
    [{ MEDIA_BUCKET_URL: 'https://key@store/media' }, 'MEDIA_BUCKET_URL must be'],
    [{ MEDIA_BUCKET_URL: 'https://key:secret@store' }, 'MEDIA_BUCKET_URL must be'],
    [{ PORT: '65536' }, 'PORT must be a whole number from 0 to 65535, not 65536'],
    [{ PORT: '-1' }, 'PORT must be'],
    [{ PORT: '3e3' }, 'PORT must be'],
    [
      { DATABASE_URL: 'mysql://db/x', ENCRYPTION_KEY: KEY, ADMIN_TOKEN: 'a'.repeat(32) },
      'DATABASE_URL must be an address',
    ],
    [{ DATABASE_URL: 'postgres://db/x', ADMIN_TOKEN: 'a'.repeat(32) }, 'ENCRYPTION_KEY must be set with DATABASE_URL'],
    [{ DATABASE_URL: 'postgres://db/x', ENCRYPTION_KEY: KEY }, 'ADMIN_TOKEN must be set with DATABASE_URL'],
    [{ ADMIN_TOKEN: 'short' }, 'ADMIN_TOKEN must have at least 32 characters'],
    [{ METRICS_TOKEN: 'short' }, 'METRICS_TOKEN must have at least 16 characters'],
    [{ ENCRYPTION_KEY: `${KEY},c2hvcnQ=` }, 'ENCRYPTION_KEY must be 32 bytes in base64'],
    [{ TLS_CERT_FILE: 'c' }, 'TLS_CERT_FILE and TLS_KEY_FILE go together'],
    [{ PLAIN_HTTP: 'loopback', HOST: '0.0.0.0' }, 'PLAIN_HTTP=loopback needs HOST to be a loopback address'],
    [{ TRUST_PROXY: '10.0.0.0/8,proxy' }, 'TRUST_PROXY: proxy is no address'],
    [{ ROLE: 'boss' }, 'ROLE must be one of all, api, worker, not boss'],
    [{ SANDBOX: 'yes' }, 'SANDBOX must be one of on, off, not yes'],
    [{ SERVICE_NAME: 'My Service' }, 'SERVICE_NAME must be'],
    [{ API_KEY_PREFIX: 'MY-KEY' }, 'API_KEY_PREFIX must be'],
    [{ GRAPH_VERSION: 'v21.0' }, 'GRAPH_VERSION must be'],
    [{ BASE_URL: 'example.com' }, 'BASE_URL must be an address'],
    [{ PROVIDER_TIMEOUT_MS: '99' }, 'PROVIDER_TIMEOUT_MS must be'],
    [{ REDIS_URL: 'http://cache' }, 'REDIS_URL must be'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL must be'],
  ]
  test.each(refused)('%o', (env, fault) => {
    expect(faultsOf(env)).toEqual([expect.stringContaining(fault)])
  })

  test('a fault never repeats a secret', () => {
    const faults = faultsOf({
      ADMIN_TOKEN: 'hidden',
      ENCRYPTION_KEY: 'hidden',
      DATABASE_URL: 'mysql://u:hidden@db',
      MEDIA_BUCKET_URL: 'https://k:hidden@s3',
    })
    expect(faults).toHaveLength(4)
    expect(faults.join()).not.toContain('hidden')
  })

  test('all faults at once, in one message', () => {
    const faults = faultsOf(Object.assign({}, ...refused.slice(-8).map(([env]) => env)))
    expect(faults).toHaveLength(8)
    expect(new ConfigError(faults).message.split('\n')).toHaveLength(9)
  })
})

test('messages and emails are kept unless their days are set, at least as long as providers and readers come back', () => {
  expect(readConfig({})).toMatchObject({ messageDays: undefined, emailDays: undefined })
  expect(readConfig({ MESSAGE_DAYS: '8', EMAIL_DAYS: '365' })).toMatchObject({ messageDays: 8, emailDays: 365 })
  expect(faultsOf({ MESSAGE_DAYS: '7', EMAIL_DAYS: '29' })).toEqual([
    'MESSAGE_DAYS must be a whole number from 8 to 36500, not 7',
    'EMAIL_DAYS must be a whole number from 30 to 36500, not 29',
  ])
})

test('loopback is known in every way of writing it', () => {
  expect(['localhost', '127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'].map(isLoopbackHost)).not.toContain(false)
  expect(['0.0.0.0', '::', '10.0.0.1', 'example.com', '127.0.0.1.example'].map(isLoopbackHost)).not.toContain(true)
})

describe('email and the legacy addresses', () => {
  test('have their settings', () => {
    const config = readConfig({
      SMTP_URL: 'smtps://user:pass@mail.example:465',
      LEGACY_REMOVAL_DATE: '2027-01-31',
      LEGACY_HOST: 'Legacy.Example',
    })
    expect(config.smtpUrl).toBe('smtps://user:pass@mail.example:465')
    expect(config.legacyRemovalDate.toISOString()).toBe('2027-01-31T00:00:00.000Z')
    expect(config.legacyHost).toBe('legacy.example')
    expect(readConfig({})).toMatchObject({ bounceDomain: undefined, mailReportsSecret: undefined })
    const bounces = { BOUNCE_DOMAIN: 'bounces.example', BOUNCE_SMTP_PORT: '2525', HOST: '127.0.0.2' }
    expect(readConfig(bounces)).toMatchObject({ bounceSmtpPort: 2525, bounceSmtpHost: '127.0.0.2' })
    expect(readConfig({}).legacyRemovalDate.toISOString()).toBe('2026-06-01T00:00:00.000Z')
  })

  test.each([
    ['SMTP_URL', 'https://mail.example'],
    ['BOUNCE_DOMAIN', 'bounces.example'],
    ['BOUNCE_SMTP_PORT', '2525'],
    ['MAIL_REPORTS_SECRET', 'short'],
    ['LEGACY_REMOVAL_DATE', '2026-02-30'],
    ['LEGACY_REMOVAL_DATE', 'tomorrow'],
    ['LEGACY_HOST', 'https://legacy.example'],
    ['LEGACY_HOST', 'legacy.example:8080'],
  ])('%s=%s is a fault', (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(name)
  })
})

test('receivers may be private only while the sandbox is on, unless said otherwise', () => {
  expect(readConfig({}).webhookAllowPrivate).toBe(true)
  expect(readConfig({ SANDBOX: 'off' }).webhookAllowPrivate).toBe(false)
  expect(readConfig(OWN_DATABASE).webhookAllowPrivate).toBe(false)
  expect(readConfig({ ...OWN_DATABASE, WEBHOOK_ALLOW_PRIVATE: 'true' }).webhookAllowPrivate).toBe(true)
  expect(readConfig({ WEBHOOK_ALLOW_PRIVATE: 'false' }).webhookAllowPrivate).toBe(false)
  expect(() => readConfig({ WEBHOOK_ALLOW_PRIVATE: 'yes' })).toThrow(/WEBHOOK_ALLOW_PRIVATE must be one of true, false/)
})

test('reads the usual proxy variables, in lower case first', () => {
  expect(readConfig({})).toMatchObject({ proxies: { http: undefined, https: undefined }, webhookProxy: undefined })
  const env = { HTTPS_PROXY: 'http://a:3128', https_proxy: 'http://b:3128', HTTP_PROXY: 'https://c', no_proxy: '.d' }
  expect(readConfig({ ...env, WEBHOOK_PROXY: 'http://e:1' })).toMatchObject({
    proxies: { http: 'https://c', https: 'http://b:3128', except: '.d' },
    webhookProxy: 'http://e:1',
  })
  for (const name of ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'WEBHOOK_PROXY'])
    expect(() => readConfig({ [name]: 'ada:secret@proxy:3128' })).toThrow(`${name} must be an address`)
})
