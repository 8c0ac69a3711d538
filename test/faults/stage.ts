import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import type { Database } from './database/database.ts'
import { type Company, createCompany } from './load/company.ts'
import { type Receivers, startReceivers } from './load/receivers.ts'
import { type Processes, type Role, startProcesses } from './processes.ts'
import { PROVIDER_TIMEOUT_MS, type ProviderGate, startProviderGate } from './provider/gate.ts'
import type { Random } from './random.ts'

export const ADMIN_TOKEN = randomBytes(24).toString('hex')
const COMPANIES = 2

/** Everything that a run needs: a database, a provider with a mail server, receivers, the service, two companies. */
export type Stage<Used extends Database> = {
  database: Used
  sandbox: Sandbox
  provider: ProviderGate
  receivers: Receivers
  processes: Processes
  companies: Company[]
}

/** `program`: what the processes run at first, with `env` on top. Absent: this version; `api` and `worker` each. */
export type Start = {
  program?: string
  env?: Record<string, string>
  roles?: readonly Role[]
  /** A proxy before the processes, which clients call instead. */
  startProxy?: ((addresses: readonly string[]) => Promise<{ address: string; stop(): Promise<void> }>) | undefined
}
type Size<Used> = Start & { startDatabase: () => Promise<Used>; processesOfRole: number; keptMessages: number }

/** Starts a stage, acts on it, and stops all of it in the end. `undo` takes what the act starts in addition. */
export async function onStage<Used extends Database, Result>(
  { startDatabase, processesOfRole, keptMessages, env: more, startProxy, ...start }: Size<Used>,
  random: Random,
  act: (stage: Stage<Used>, undo: (() => unknown)[]) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(temporaryFolder(), 'parley-faults-'))
  const undo: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })]
  try {
    const database = await startDatabase()
    undo.push(database.stop)
    const sandbox = await startSandbox({ autoStatus: false, messageLimit: keptMessages })
    undo.push(sandbox.stop)
    const provider = await startProviderGate(sandbox.url, folder)
    undo.push(provider.stop)
    const receivers = await startReceivers(random)
    undo.push(receivers.stop)
    const env = { ...environment(database.url, sandbox.smtpUrl, folder, provider.certificate), ...more }
    const started = await startProcesses(processesOfRole, env, random, start)
    undo.push(started.stop)
    const proxy = await startProxy?.(started.addresses)
    if (proxy) undo.push(proxy.stop)
    const processes = proxy ? { ...started, addresses: [proxy.address] } : started
    const place = { addresses: processes.addresses, adminToken: ADMIN_TOKEN, random }
    const companies: Company[] = []
    for (let index = 0; index < COMPANIES; index += 1) {
      const urls = { sandboxUrl: sandbox.url, providerUrl: provider.url, receiversUrl: receivers.url }
      companies.push(await createCompany({ ...place, ...urls }, index))
    }
    return await act({ database, sandbox, provider, receivers, processes, companies }, undo)
  } finally {
    for (const step of undo.reverse()) await step()
  }
}

const environment = (
  databaseUrl: string,
  smtpUrl: string,
  folder: string,
  certificate: string,
): Record<string, string> => ({
  NODE_EXTRA_CA_CERTS: certificate,
  PROVIDER_TIMEOUT_MS: String(PROVIDER_TIMEOUT_MS),
  DATABASE_URL: databaseUrl,
  DATA_DIR: folder,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(folder, 'compiled'),
  SANDBOX: 'off',
  SMTP_URL: smtpUrl,
  SESSION_WINDOW: 'provider',
  WEBHOOK_ALLOW_PRIVATE: 'true',
  ADMIN_TOKEN,
  ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  // A supervisor logs the end of a worker as an error.
  LOG_LEVEL: 'error',
})
