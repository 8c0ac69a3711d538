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
  /** Another process for load, beside that of `load`. */
  startLoad(): Load
  service: Program
  /** A pool on the service's database, to fill it and to count in it. */
  db: Pool
  databaseUrl: string
  /** Whether PostgreSQL counts statements and their time. */
  countsStatements: boolean
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
const PATIENCE_MS = 300_000
const HIGHEST_RATE_LIMIT = 1_000_000
const ACCOUNT = '200000000000001'
/** Where the sandbox plays each provider. */
const BASES: Record<ProviderName, (appId: string) => string> = {
  meta: () => '',
  dialog360: () => '/dialog360',
  gupshup: (appId) => `/gupshup/partner/app/${appId}`,
}

export type StageOptions = {
  /** Another checkout whose service is started. */
  root?: string | undefined
  /** Settings of the service. */
  env?: Record<string, string>
  /** How many files the service may have open. */
  openFiles?: number
  /** Whether PostgreSQL counts statements and their time (pg_stat_statements). */
  statements?: boolean
}

/** Sets the stage: an empty database, durable as the service makes it. */
export async function setStage({
  root,
  env: serviceEnv = {},
  openFiles,
  statements = false,
}: StageOptions = {}): Promise<Stage> {
  const folder = await mkdtemp(join(process.env[RUN_VARIABLE] || tmpdir(), 'parley-bench-'))
  const dataDir = join(folder, 'data')
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const smtpPort = await freePort()
  const smtpUrl = `smtp://127.0.0.1:${smtpPort}`
  const programs: Pick<Program, 'stop'>[] = []
  const start: Stage['start'] = async (script, args, env = {}) => {
    const outputFile = join(folder, `${script.replaceAll('/', '-')}-${programs.length}.log`)
    const program = await startProgram({ script, args, env, outputFile, ready: /"url":"([^"]+)"/ })
    programs.push(program)
    return program
  }
  const ownEnv = { ...settingsOf(dataDir, port, smtpUrl), ...serviceEnv }
  const startService = (env: Record<string, string> = {}) =>
    startProgram({
      ...{ script: 'bin/parley', args: ['start'], env: { ...ownEnv, ...env }, root, openFiles },
      ...{ outputFile: join(folder, 'service.log'), ready: /(Parley listens on)/ },
    })
  const openDatabase = async () => {
    const { url: databaseUrl } = await joinEmbedded(dataDir)
    return { databaseUrl, db: connect(databaseUrl, { max: 2, applicationName: 'bench' }) }
  }

  if (statements) await countStatements(dataDir)
  const startLoadProcess = () => {
    const load = startLoad()
    programs.push(load)
    return load
  }
  const sandbox = await start('sandbox/main.ts', [], { SANDBOX_PORT: '0', SANDBOX_SMTP_PORT: String(smtpPort) })
  const service = await startService()
  const stage: Stage = {
    folder,
    url,
    sandboxUrl: sandbox.address,
    smtpUrl,
    load: startLoadProcess(),
    startLoad: startLoadProcess,
    service,
    idleMegabytes: residentMegabytes(service.pid).now,
    ...(await openDatabase()),
    adminToken: ADMIN_TOKEN,
    countsStatements: statements,
    operator: (method, path, body) => call(`${url}/admin/v1${path}`, method, body, `Bearer ${ADMIN_TOKEN}`),
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
      await stage.db.end()
      await stage.service.stop()
      for (const program of programs) await program.stop()
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  if (statements) await stage.db`create extension pg_stat_statements`
  return stage
}

const settingsOf = (dataDir: string, port: number, smtpUrl: string): Record<string, string> => ({
  DATA_DIR: dataDir,
  PORT: String(port),
  SANDBOX: 'off',
  SMTP_URL: smtpUrl,
  ADMIN_TOKEN,
  ...(process.env.PROCESSES !== undefined && { PROCESSES: process.env.PROCESSES }),
})

async function databaseCpuSeconds(dataDir: string): Promise<number> {
  const postmaster = Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0])
  return cpuSeconds(postmaster, ...childrenOf(postmaster))
}

/** Creates the database before the service does, with a setting that needs a start. */
async function countStatements(dataDir: string): Promise<void> {
  const server = await joinEmbedded(dataDir)
  const db = connect(server.url, { max: 1, applicationName: 'bench' })
  await db`alter system set shared_preload_libraries = 'pg_stat_statements'`
  await db.end()
  await server.stop()
}

async function createCompany(stage: Stage, count: number, provider: ProviderName): Promise<Company> {
  const { operator } = stage
  const company = { name: 'Bench', rateLimitPerMinute: HIGHEST_RATE_LIMIT }
  const companyId = Number(Object(await operator('POST', '/companies', company)).id)
  const key = { name: 'Bench key', permissions: ['WhatsApp', 'Transactional'] }
  const { token } = Object(await operator('POST', `/companies/${companyId}/api-keys`, key))
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
  return { id: Number(Object(sender).channelId), phoneNumberId: number.phoneNumberId }
}

/** Registers a receiver of inbound messages; returns the registration's path. */
export async function register({ url }: Stage, { headers }: Company, receiver: object): Promise<string> {
  const path = '/public/v1/webhooks/registrations'
  const body = { name: 'Bench', events: ['whatsapp.message.received'], ...receiver }
  return `${path}/${Object(await call(`${url}${path}`, 'POST', body, headers.authorization)).id}`
}

/** A call that is not measured, sent again while the service is too busy with other things to answer it. */
export async function call(url: string, method: string, body?: unknown, authorization = ''): Promise<unknown> {
  const json = { authorization, 'content-type': 'application/json' }
  const sent = body === undefined ? { headers: { authorization } } : { headers: json, body: JSON.stringify(body) }
  for (const startedAt = performance.now(); ; await sleep(500)) {
    const answer = await fetch(url, { method, ...sent })
    const text = await answer.text()
    if (answer.ok) return text === '' ? undefined : JSON.parse(text)
    if (answer.status === 503 && performance.now() - startedAt < PATIENCE_MS) continue
    throw new Error(`${method} ${url}: ${answer.status} ${text}`)
  }
}

/** Waits until a query has no row, looking as often as costs nothing. */
export async function untilNone({ db }: Stage, query: string, pauseMs = 50): Promise<void> {
  const isLeft = async () => (await db.unsafe<[{ isLeft: boolean }]>(`select exists (${query}) as is_left`))[0].isLeft
  while (await isLeft()) await sleep(pauseMs)
}

/** The `value` of the only row of a query. */
export const numberOf = async (query: PromiseLike<{ value: number }[]>): Promise<number> => (await query)[0]?.value ?? 0

/** PostgreSQL's own statistics, after all sessions have reported theirs. */
export async function statisticsOf<T extends object>({ db }: Stage, query: string): Promise<T> {
  // Sessions report at most once a second, and after ten seconds when they are idle.
  await sleep(1_500)
  await Promise.all([1, 2].map(() => db`select pg_stat_force_next_flush(), pg_sleep(0.05)`))
  const [row] = await db.unsafe<[T]>(query)
  return row
}
