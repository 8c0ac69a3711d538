import { type Config, isLoopbackHost } from '../../config.ts'
import { adviceOnHttps } from '../../http/rules/https-rule.ts'
import { messageOf } from '../../start-error.ts'
import { checkDatabase } from './database.ts'
import { checkBucket, checkDisk, checkMailServer, checkName, checkRedis, checkWebhook } from './environment.ts'
import { type Finding, finding } from './finding.ts'

/** Checks one thing. An error that it throws is a failure with its message. */
export type Check = () => Promise<Finding[]>

const TIMEOUT_MS = 15_000

/** Everything around the service that can be seen from this machine, in the order in which it should be repaired. */
export async function examine(config: Config): Promise<Finding[]> {
  const findings: Finding[] = [finding('settings', 'valid')]
  const advice = adviceOnHttps(config)
  if (advice !== undefined) findings.push(finding('https', advice, 'warn'))
  for (const [name, check] of checksOf(config)) findings.push(...(await run(name, check)))
  return findings
}

function checksOf(config: Config): [name: string, check: Check][] {
  const { hostname, protocol } = new URL(config.baseUrl)
  const isPublic = protocol === 'https:' && !isLoopbackHost(hostname)
  const checks: [string, Check][] = [
    ['disk', () => checkDisk(config.dataDir)],
    ['database', () => checkDatabase(config)],
  ]
  if (config.redisUrl !== undefined) checks.push(['redis', () => checkRedis(config.redisUrl ?? '')])
  if (config.mediaBucketUrl !== undefined) checks.push(['bucket', () => checkBucket(config)])
  if (config.smtpUrl !== undefined) checks.push(['mail server', () => checkMailServer(config.smtpUrl ?? '')])
  if (isPublic) checks.push(['dns', () => checkName(hostname)], ['webhook', () => checkWebhook(config)])
  return checks
}

async function run(name: string, check: Check): Promise<Finding[]> {
  const late = Promise.withResolvers<Finding[]>()
  const timer = setTimeout(
    () => late.resolve([finding(name, `no answer within ${TIMEOUT_MS / 1000} s`, 'fail')]),
    TIMEOUT_MS,
  )
  try {
    return await Promise.race([check(), late.promise])
  } catch (error) {
    return [finding(name, messageOf(error), 'fail')]
  } finally {
    clearTimeout(timer)
  }
}
