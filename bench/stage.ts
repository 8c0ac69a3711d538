import { randomBytes, randomInt } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../src/db/connect.ts'
import { joinEmbedded } from '../src/db/embedded/start.ts'
import { freePort } from '../test/free-port.ts'
import { RUN_VARIABLE } from '../test/run/clean-run.ts'
import { type Load, startLoad } from './load.ts'
import { childrenOf, cpuSeconds, type Program, startProgram } from './process.ts'

export type Company = { companyId: number; headers: Record<string, string>; senders: Sender[] }
export type Sender = { id: number; phoneNumberId: string }

const ADMIN_TOKEN = randomBytes(24).toString('hex')
const PATIENCE_MS = 300_000
const ACCOUNT = '200000000000001'

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

/** All that a benchmark plays on: the service as a user starts it, the sandbox, and the load, each its own process. */
export type Stage = Awaited<ReturnType<typeof setStage>>

/** Sets the stage: an empty database, durable as the service makes it. */
export async function setStage({ root, env: ownEnv = {}, openFiles, statements = false }: StageOptions = {}) {
  const folder = await mkdtemp(join(process.env[RUN_VARIABLE] || tmpdir(), 'parley-bench-'))
  const dataDir = join(folder, 'data')
  const [port, smtpPort] = [await freePort(), await freePort()]
  const [url, smtpUrl] = [`http://127.0.0.1:${port}`, `smtp://127.0.0.1:${smtpPort}`]
  const { programs, start, startOtherLoad } = programsIn(folder)
  const { PROCESSES = '1' } = process.env
  const settings = { DATA_DIR: dataDir, PORT: String(port), SANDBOX: 'off', SMTP_URL: smtpUrl, ADMIN_TOKEN, PROCESSES }
  const startService = (env: Record<string, string> = {}): Promise<Program> =>
    startProgram({
      ...{ script: 'bin/parley', args: ['start'], env: { ...settings, ...ownEnv, ...env }, root, openFiles },
      ...{ outputFile: join(folder, 'service.log'), ready: /(Parley listens on)/ },
    })
  if (statements) await countStatements(dataDir)
  const sandbox = await start('sandbox/main.ts', [], { SANDBOX_PORT: '0', SANDBOX_SMTP_PORT: String(smtpPort) })
  const operator: Operator = (method, path, body) =>
    call(`${url}/admin/v1${path}`, method, body, `Bearer ${ADMIN_TOKEN}`)
  const stage = {
    /** Where its programs write what they say. */
    folder,
    url,
    sandboxUrl: sandbox.address,
    sandboxPid: sandbox.pid,
    /** The sandbox's mail server, through which the service sends. */
    smtpUrl,
    service: await startService(),
    /** A pool on the service's database, to fill it and to count in it. */
    ...(await openDatabase(dataDir)),
    load: startOtherLoad(),
    /** Another process for load, beside that of `load`. */
    startOtherLoad,
    /** Starts another program of this repository, which ends with the stage. */
    start,
    /** The bearer of the operator's API. */
    adminToken: ADMIN_TOKEN,
    operator,
    /** Whether PostgreSQL counts statements and their time. */
    countsStatements: statements,
    /** A company with its key and numbers, made by the operator's API; no rate limit will be met. */
    createCompany: (senders = 1): Promise<Company> => createCompany(operator, sandbox.address, senders),
    /** Stops the service and starts it again on the same data with other settings. */
    restart: async (env?: Record<string, string>): Promise<void> => {
      await stage.db.end()
      await stage.service.stop()
      stage.service = await startService(env)
      Object.assign(stage, await openDatabase(dataDir))
    },
    /** Processor seconds used so far by the service and by its database. */
    cpu: async (): Promise<{ service: number; database: number }> => {
      const postmaster = Number((await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0])
      return { service: cpuSeconds(stage.service.pid), database: cpuSeconds(postmaster, ...childrenOf(postmaster)) }
    },
    stop: async (): Promise<void> => {
      await stage.db.end()
      for (const program of [stage.service, ...programs]) await program.stop()
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  if (statements) await stage.db`create extension pg_stat_statements`
  return stage
}

/** Starts programs that write to a folder, and remembers them. */
function programsIn(folder: string) {
  const programs: Pick<Program, 'stop'>[] = []
  const start = async (script: string, args: string[], env: Record<string, string> = {}): Promise<Program> => {
    const outputFile = join(folder, `${script.replaceAll('/', '-')}-${programs.length}.log`)
    const program = await startProgram({ script, args, env, outputFile, ready: /"url":"([^"]+)"/ })
    programs.push(program)
    return program
  }
  const startOtherLoad = (): Load => {
    const load = startLoad()
    programs.push(load)
    return load
  }
  return { programs, start, startOtherLoad }
}

async function openDatabase(dataDir: string) {
  const { url: databaseUrl } = await joinEmbedded(dataDir)
  return { databaseUrl, db: connect(databaseUrl, { max: 2, applicationName: 'bench' }) }
}

/** Creates the database before the service does, with a setting that needs a start. */
async function countStatements(dataDir: string): Promise<void> {
  const server = await joinEmbedded(dataDir)
  const db = connect(server.url, { max: 1, applicationName: 'bench' })
  await db`alter system set shared_preload_libraries = 'pg_stat_statements'`
  await db.end()
  await server.stop()
}

type Operator = (method: string, path: string, body?: unknown) => Promise<unknown>

async function createCompany(operator: Operator, sandboxUrl: string, count: number): Promise<Company> {
  const company = { name: 'Bench', rateLimitPerMinute: 1_000_000 }
  const companyId = Number(Object(await operator('POST', '/companies', company)).id)
  const key = { name: 'Bench key', permissions: ['WhatsApp', 'Transactional'] }
  const { token } = Object(await operator('POST', `/companies/${companyId}/api-keys`, key))
  const senders: Sender[] = []
  for (let i = 0; i < count; i++) senders.push(await connectSender(operator, sandboxUrl, companyId))
  return { companyId, headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, senders }
}

async function connectSender(operator: Operator, sandboxUrl: string, companyId: number): Promise<Sender> {
  const own = { phoneNumberId: `1${randomInt(1e13, 9e13)}`, wabaAccountId: ACCOUNT }
  const [phoneNumber, phoneName] = [`+39 ${randomInt(1e9, 1e10)}`, 'Bench']
  const number = { ...own, displayPhoneNumber: phoneNumber, verifiedName: phoneName }
  await call(`${sandboxUrl}/sandbox/numbers`, 'POST', number)
  const sender = await operator('POST', `/companies/${companyId}/senders`, {
    ...{ ...own, provider: 'meta', phoneNumber, phoneName, accessToken: 'token', apiBaseUrl: sandboxUrl, tier: 4 },
    throughputPerSecond: 1_000_000,
  })
  return { id: Number(Object(sender).channelId), phoneNumberId: own.phoneNumberId }
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
