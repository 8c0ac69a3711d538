import { randomBytes, randomInt } from 'node:crypto'
import { join } from 'node:path'
import pino from 'pino'
import { startSandbox } from '../sandbox/sandbox.ts'
import { buildApp } from '../src/app.ts'
import type { SessionLimits } from '../src/db/connect.ts'
import type { BlobStore } from '../src/media/blobs/blob-store.ts'
import { openFolderBlobStore } from '../src/media/blobs/folder-blob-store.ts'
import { type Clock, systemClock } from '../src/platform/clock.ts'
import { type Config, readConfig } from '../src/platform/settings/config.ts'
import { createCipher } from '../src/secrets/secrets.ts'
import { createMailer, createProviders } from '../src/wiring/adapters.ts'
import { createDeps, type Deps } from '../src/wiring/deps.ts'
import { startWorkers } from '../src/wiring/workers.ts'
import { ADMIN_TOKEN } from './api.ts'
import { compareAnswers } from './contract/described-answers.ts'
import { createTestDatabase } from './database.ts'
import { atFileEnd } from './file-end.ts'
import { createTestFolder } from './temporary-folder.ts'

export const VERIFY_TOKEN = 'verify-token-for-tests'

type Options = {
  config?: Partial<Config>
  clock?: Clock
  onLog?: (line: Record<string, unknown>) => void
  /** Whether every company has a mirror, see createTestDatabase. */
  mirrors?: boolean
  /** What the database ends; absent: nothing. */
  limits?: SessionLimits
  /** Where media are kept; absent: in a folder. */
  blobStore?: BlobStore
  /** Stores events without handling them at once, as a process without workers does. */
  storesEvents?: boolean
  /** The database to clone, outside of a run of the tests. */
  templateUrl?: string
}

/**
 * The whole service on a real database and real sockets, with a sandbox that plays the provider: HTTP side and workers
 * in this process, stopped when the test file ends.
 */
export async function startTestService({
  config = {},
  clock = systemClock,
  onLog,
  blobStore,
  storesEvents = false,
  ...database
}: Options = {}) {
  const { db, url: databaseUrl } = await createTestDatabase(database)
  const log = pino({ level: onLog ? 'debug' : 'silent' }, { write: (line: string) => onLog?.(JSON.parse(line)) })
  const key = randomBytes(32).toString('base64')
  const environment = { ADMIN_TOKEN, WHATSAPP_VERIFY_TOKEN: VERIFY_TOKEN, PORT: '0', ENCRYPTION_KEY: key }
  const sandbox = await startSandbox({ autoStatus: false })
  const settings = { ...readConfig(environment), smtpUrl: sandbox.smtpUrl, ...config }
  const folder = await createTestFolder()
  const deps = createDeps({
    config: settings,
    db,
    workerDb: db,
    log,
    clock,
    cipher: createCipher([key]),
    providers: createProviders(settings),
    mailer: createMailer(settings),
    blobStore: blobStore ?? (await openFolderBlobStore(join(folder, 'media'))),
  })
  const workers = startWorkers(deps)
  const app = await buildApp(deps, storesEvents ? undefined : workers)
  compareAnswers(app)
  const url = await app.listen({ port: settings.port, host: '127.0.0.1' })
  atFileEnd(async () => {
    const closed = app.close()
    // A test may have left a stream open, or a body that was refused before its end.
    app.server.closeAllConnections()
    await closed
    await workers.stop()
    await sandbox.stop()
  })

  const call = async (
    base: string,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) => {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: text === '' ? undefined : parse(text) }
  }
  const operator = async (method: string, path: string, body?: unknown) =>
    call(url, method, `/admin/v1${path}`, body, { authorization: `Bearer ${ADMIN_TOKEN}` })
  const control = (method: string, path: string, body?: unknown) => call(sandbox.url, method, `/sandbox${path}`, body)

  await control('PUT', '/webhook', { url: `${url}/public/v1/webhooks/whatsapp` })
  return {
    app,
    folder,
    db,
    databaseUrl,
    deps,
    url,
    sandbox,
    workers,
    call,
    operator,
    control,
    createCompany,
    connectSender,
    uploadMedia,
  }

  /** A company with a key and a number of its own at the sandbox, its templates synced. */
  async function createCompany(input: { permissions?: string[]; sender?: object; isConnected?: boolean } = {}) {
    const company = await operator('POST', '/companies', { name: 'Acme', rateLimitPerMinute: 1_000_000 })
    const companyId: number = company.body.id
    const key = await operator('POST', `/companies/${companyId}/api-keys`, {
      name: 'Shop key',
      permissions: input.permissions ?? ['WhatsApp', 'Transactional'],
    })
    const api = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      call(url, method, `/public/v1${path}`, body, { authorization: `Bearer ${key.body.token}`, ...headers })
    const sender = input.isConnected === false ? undefined : await connectSender(companyId, input.sender)
    return { companyId, key: key.body, api, sender: sender?.body, phoneNumberId: sender?.body.phoneNumberId as string }
  }

  /** A file of the number at the provider; returns its media id. */
  async function uploadMedia(phoneNumberId: string): Promise<string> {
    const headers = { authorization: 'Bearer token-of-the-number', 'content-type': 'image/webp' }
    return (await call(sandbox.url, 'POST', `/v25.0/${phoneNumberId}/media`, 'bytes', headers)).body.id
  }

  /** The provider lists the number first, whatever its id. */
  async function connectSender(companyId: number, input: { phoneNumberId?: string; wabaAccountId?: string } = {}) {
    const { phoneNumberId = `1${randomInt(1e9, 1e10)}${randomInt(1e4, 1e5)}`, wabaAccountId = DEMO_ACCOUNT } = input
    const displayPhoneNumber = `+39 ${randomInt(1e9, 1e10)}`
    await control('POST', '/numbers', { phoneNumberId, displayPhoneNumber, verifiedName: 'Acme', wabaAccountId })
    return operator('POST', `/companies/${companyId}/senders`, {
      provider: 'meta',
      phoneNumber: displayPhoneNumber,
      phoneName: 'Acme',
      phoneNumberId,
      wabaAccountId,
      accessToken: 'token-of-the-number',
      apiBaseUrl: sandbox.url,
      ...input,
    })
  }
}

export type TestService = Awaited<ReturnType<typeof startTestService>>
export type { Deps }

export const DEMO_ACCOUNT = '200000000000001'

// biome-ignore lint/suspicious/noExplicitAny: what a test reads from an answer is what it asserts
function parse(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The deadline of a poll for a state ends a run that hangs, and says nothing about speed. */
const PATIENCE_MS = 90_000

/** Waits until the check gives something, for work that goes on after an answer. */
export async function eventually<T>(check: () => Promise<T | undefined | false>, timeoutMs = 0): Promise<T> {
  const deadline = performance.now() + Math.max(timeoutMs, PATIENCE_MS)
  for (;;) {
    const found = await check()
    if (found !== undefined && found !== false) return found
    if (performance.now() > deadline)
      throw new Error(`Nothing came of it within ${Math.max(timeoutMs, PATIENCE_MS)} ms`)
    await new Promise((resume) => setTimeout(resume, 25))
  }
}

/** Resolves when the process of the service has seen that the company is locked. It looks every 3 s. */
export const untilLocked = ({ deps }: Pick<TestService, 'deps'>, companyId: number) =>
  eventually(async () => {
    try {
      await deps.requireUnlocked(companyId)
      return false
    } catch {
      return true
    }
  })

export const uniquePhone = (): string => `39${randomInt(1e9, 1e10)}`
