import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type Pool } from '../src/db/connect.ts'
import { joinEmbedded } from '../src/db/embedded/start.ts'
import type { ProviderName } from '../src/providers/provider-name.ts'
import { RUN_VARIABLE } from '../test/run/clean-run.ts'
import { freePort } from './free-port.ts'
import { type Load, startLoad } from './load.ts'
import { childrenOf, cpuSeconds, type Program, residentMegabytes, startProgram } from './process.ts'

export type Company = { companyId: number; headers: Record<string, string>; senders: Sender[] }
export type Sender = { id: number; phoneNumberId: string }

/** All that a benchmark plays on: the service as a user starts it, the sandbox, and the load, each its own process. */
export type Stage = {
  /** Where its programs write what they say. */
  folder: string
  url: string
  sandboxUrl: string
  /** The sandbox's mail server, through which the service sends. */
  smtpUrl: string
  load: Load
  service: Program
  /** A pool on the service's database, to fill it, count in it and compare with it. */
  db: Pool
  databaseUrl: string
  /** The bearer of the operator's API. */
  adminToken: string
  operator(method: string, path: string, body?: unknown): Promise<unknown>
  /** A company with its key and numbers, made by the operator's API; no rate limit will be met. */
  createCompany(senders?: number, provider?: ProviderName): Promise<Company>
  /** The provider's behaviour: see the sandbox's `PUT /sandbox/behaviour`. */
  behave(behaviour: object): Promise<void>
  /** Starts another program of this repository, which ends with the stage. */
  start(script: string, args: string[], env?: Record<string, string>): Promise<Program>
  /** Stops the service and starts it again on the same data with other settings. */
  restart(env?: Record<string, string>): Promise<void>
  /** Processor seconds used so far by the service and by its database. */
  cpu(): Promise<{ service: number; database: number }>
  /** Resident memory of the service after its start. */
  idleMegabytes: number
  stop(): Promise<void>
}

const ADMIN_TOKEN = randomBytes(24).toString('hex')
const HIGHEST_RATE_LIMIT = 1_000_000
const ACCOUNT = '200000000000001'
/** Where the sandbox plays each provider. */
const BASES: Record<ProviderName, (appId: string) => string> = {
  meta: () => '',
  dialog360: () => '/dialog360',
  gupshup: (appId) => `/gupshup/partner/app/${appId}`,
}

/** Another checkout whose service is started, settings of that service, and how many files it may have open. */
export type StageOptions = { root?: string | undefined; env?: Record<string, string>; openFiles?: number }

/** Sets the stage: an empty database, durable as the service makes it. */
export async function setStage({ root, env: serviceEnv = {}, openFiles }: StageOptions = {}): Promise<Stage> {
  const folder = await mkdtemp(join(process.env[RUN_VARIABLE] || tmpdir(), 'parley-bench-'))
  const dataDir = join(folder, 'data')
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const smtpPort = await freePort()
  const smtpUrl = `smtp://127.0.0.1:${smtpPort}`
  const programs: Program[] = []
  const start: Stage['start'] = async (script, args, env = {}) => {
    const outputFile = join(folder, `${script.replaceAll('/', '-')}-${programs.length}.log`)
    const program = await startProgram({ script, args, env, outputFile, ready: /"url":"([^"]+)"/ })
    programs.push(program)
    return program
  }
  const ownEnv = {
    DATA_DIR: dataDir,
    PORT: String(port),
    SANDBOX: 'off',
    SMTP_URL: smtpUrl,
    ADMIN_TOKEN,
    ...(process.env.PROCESSES !== undefined && { PROCESSES: process.env.PROCESSES }),
    ...serviceEnv,
  }
  const startService = (env: Record<string, string> = {}) =>
    startServiceIn(folder, { ...ownEnv, ...env }, { root, openFiles })
  const openDatabase = async () => {
    const { url: databaseUrl } = await joinEmbedded(dataDir)
    return { databaseUrl, db: connect(databaseUrl, { max: 2, applicationName: 'bench' }) }
  }

  const sandbox = await start('sandbox/main.ts', [], { SANDBOX_PORT: '0', SANDBOX_SMTP_PORT: String(smtpPort) })
  const service = await startService()
  const stage: Stage = {
    folder,
    url,
    sandboxUrl: sandbox.address,
    smtpUrl,
    load: startLoad(),
    service,
    idleMegabytes: residentMegabytes(service.pid).now,
    ...(await openDatabase()),
    adminToken: ADMIN_TOKEN,
    operator: (method, path, body) => call(`${url}/admin/v1${path}`, method, body, ADMIN_TOKEN),
    createCompany: (senders = 1, provider = 'meta') => createCompany(stage, senders, provider),
    behave: async (behaviour) => void (await call(`${stage.sandboxUrl}/sandbox/behaviour`, 'PUT', behaviour)),
    start,
    restart: async (env) => {
      await stage.db.end()
      await stage.service.stop()
      stage.service = await startService(env)
      Object.assign(stage, await openDatabase())
    },
    cpu: async () => ({ service: cpuSeconds(stage.service.pid), database: await databaseCpuSeconds(dataDir) }),
    stop: async () => {
      await stage.load.stop()
      await stage.db.end()
      await stage.service.stop()
      for (const program of programs) await program.stop()
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  return stage
}

const startServiceIn = (
  folder: string,
  env: Record<string, string>,
  { root, openFiles }: { root: string | undefined; openFiles: number | undefined },
): Promise<Program> =>
  startProgram({
    script: 'bin/parley',
    args: ['start'],
    env,
    outputFile: join(folder, 'service.log'),
    ready: /(Parley listens on)/,
    ...(root !== undefined && { root }),
    ...(openFiles !== undefined && { openFiles }),
  })

async function databaseCpuSeconds(dataDir: string): Promise<number> {
  const postmaster = Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0])
  return cpuSeconds(postmaster, ...childrenOf(postmaster))
}

/** Starts what a benchmark needs, and stops it also after a failure. */
export async function onStage(play: (stage: Stage) => Promise<void>, options?: StageOptions): Promise<void> {
  const stage = await setStage(options)
  try {
    await play(stage)
  } finally {
    await stage.stop()
  }
}

async function createCompany(stage: Stage, count: number, provider: ProviderName): Promise<Company> {
  const { operator } = stage
  const company = { name: 'Bench', rateLimitPerMinute: HIGHEST_RATE_LIMIT }
  const { id: companyId } = (await operator('POST', '/companies', company)) as { id: number }
  const permissions = ['WhatsApp', 'Transactional']
  const key = await operator('POST', `/companies/${companyId}/api-keys`, { name: 'Bench key', permissions })
  const { token } = key as { token: string }
  const senders: Sender[] = []
  for (let i = 0; i < count; i++) senders.push(await connectSender(stage, companyId, provider))
  return { companyId, headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, senders }
}

async function connectSender(
  { operator, sandboxUrl }: Stage,
  companyId: number,
  provider: ProviderName,
): Promise<Sender> {
  const app = { id: randomUUID(), name: 'Bench' }
  const number = {
    phoneNumberId: `1${randomInt(1e13, 9e13)}`,
    displayPhoneNumber: `+39 ${randomInt(1e9, 1e10)}`,
    verifiedName: 'Bench',
    wabaAccountId: ACCOUNT,
    ...(provider === 'gupshup' && { app }),
  }
  await call(`${sandboxUrl}/sandbox/numbers`, 'POST', number)
  const sender = await operator('POST', `/companies/${companyId}/senders`, {
    provider,
    phoneNumber: number.displayPhoneNumber,
    phoneName: number.verifiedName,
    phoneNumberId: number.phoneNumberId,
    wabaAccountId: ACCOUNT,
    // 360dialog's key says which number it is for.
    accessToken: `key-${number.phoneNumberId}`,
    apiBaseUrl: `${sandboxUrl}${BASES[provider](app.id)}`,
    tier: 4,
    throughputPerSecond: 1_000_000,
  })
  return { id: Number((sender as { channelId: string }).channelId), phoneNumberId: number.phoneNumberId }
}

/** Registers a receiver of inbound messages; returns the registration's path. */
export async function register({ url }: Stage, { headers }: Company, receiver: object): Promise<string> {
  const path = '/public/v1/webhooks/registrations'
  const body = JSON.stringify({ name: 'Bench', events: ['whatsapp.message.received'], ...receiver })
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body })
  if (!answer.ok) throw new Error(`Registering: ${answer.status} ${await answer.text()}`)
  return `${path}/${((await answer.json()) as { id: number }).id}`
}

async function call(url: string, method: string, body: unknown, token = ''): Promise<unknown> {
  const answer = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

/** The `value` of the only row of a query. */
export const numberOf = async (query: PromiseLike<{ value: number }[]>): Promise<number> => (await query)[0]?.value ?? 0

/** PostgreSQL's own count of sequential scans of the tables that grow with a company. */
export async function countScans({ db }: Stage): Promise<number> {
  // Sessions report their statistics at most once a second, and after ten seconds when they are idle.
  await sleep(1_500)
  await Promise.all([1, 2].map(() => db`select pg_stat_force_next_flush(), pg_sleep(0.05)`))
  return numberOf(db<{ value: number }[]>`
    select sum(seq_scan)::int as value
    from pg_stat_user_tables
    where relname in ('conversations', 'conversation_activity', 'messages', 'contacts', 'message_reactions')
  `)
}
