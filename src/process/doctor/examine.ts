import { adviceOnHttps } from '../../http/server/request-head.ts'
import { type Config, isLoopbackHost } from '../../platform/settings/config.ts'
import { messageOf } from '../../platform/start-error.ts'
import { checkDatabase } from './database.ts'
import { checkBucket, checkDisk, checkMailServer, checkName, checkRedis, checkWebhook } from './environment.ts'
import { type Finding, finding, skipped } from './finding.ts'

/** A thrown error counts as a failure with its message. */
export type Check = () => Promise<Finding[]>

const TIMEOUT_MS = 15_000
const EMBEDDED_TIMEOUT_MS = 120_000

/** Runs all checks, in the order in which faults should be repaired. */
export async function examine(config: Config): Promise<Finding[]> {
  const findings: Finding[] = [finding('settings', 'valid')]
  const advice = adviceOnHttps(config)
  if (advice !== undefined) findings.push(finding('https', advice, 'warn'))
  for (const one of checksOf(config)) findings.push(...(await run(one)))
  return withSkipped(findings)
}

const ON_DATABASE = ['schema', 'secrets', 'numbers']

function withSkipped(findings: Finding[]): Finding[] {
  const missing = ON_DATABASE.filter((name) => !findings.some((one) => one.name === name))
  const at = findings.findLastIndex(({ name }) => name === 'database' || ON_DATABASE.includes(name)) + 1
  return findings.toSpliced(at, 0, ...missing.map((name) => skipped(name, 'a check before it failed')))
}

type NamedCheck = [name: string, check: Check, timeoutMs?: number]

const skip = (name: string, reason: string): NamedCheck => [name, async () => [skipped(name, reason)]]

function checksOf(config: Config): NamedCheck[] {
  const { databaseUrl, redisUrl, mediaBucketUrl, smtpUrl, sandbox, baseUrl } = config
  const { hostname, protocol } = new URL(baseUrl)
  const isPublic = protocol === 'https:' && !isLoopbackHost(hostname)
  const notPublic = `BASE_URL is ${baseUrl}, which is no https address that others reach`
  const noMailServer = sandbox
    ? 'mails go to the sandbox'
    : 'SMTP_URL is not set, so only companies with an own one send'
  return [
    databaseUrl !== undefined && mediaBucketUrl !== undefined
      ? skip('disk', 'with DATABASE_URL and MEDIA_BUCKET_URL nothing is stored in DATA_DIR')
      : ['disk', () => checkDisk(config.dataDir)],
    ['database', () => checkDatabase(config), databaseUrl === undefined ? EMBEDDED_TIMEOUT_MS : TIMEOUT_MS],
    redisUrl === undefined
      ? skip('redis', 'REDIS_URL is not set, so requests are counted in the database')
      : ['redis', () => checkRedis(redisUrl)],
    mediaBucketUrl === undefined
      ? skip('bucket', 'MEDIA_BUCKET_URL is not set, so media are stored in DATA_DIR')
      : ['bucket', () => checkBucket(config)],
    smtpUrl === undefined ? skip('mail server', noMailServer) : ['mail server', () => checkMailServer(smtpUrl)],
    isPublic ? ['dns', () => checkName(hostname)] : skip('dns', notPublic),
    isPublic ? ['webhook', () => checkWebhook(config)] : skip('webhook', notPublic),
  ]
}

async function run([name, check, timeoutMs = TIMEOUT_MS]: NamedCheck): Promise<Finding[]> {
  const late = Promise.withResolvers<Finding[]>()
  const timer = setTimeout(
    () => late.resolve([finding(name, `no answer within ${timeoutMs / 1000} s`, 'fail')]),
    timeoutMs,
  )
  try {
    return await Promise.race([check(), late.promise])
  } catch (error) {
    return [finding(name, messageOf(error), 'fail')]
  } finally {
    clearTimeout(timer)
  }
}
