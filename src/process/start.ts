import type { Logger } from 'pino'
import { isDatabaseDown } from '../db/pool/failure.ts'
import type { Config } from '../platform/settings/config.ts'
import { messageOf, StartError } from '../platform/start-error.ts'
import { createComponents } from './components.ts'
import { prepare } from './prepare.ts'
import { type Build, serve } from './serve.ts'

export type Running = {
  address: string
  adminTokenFile: string | undefined
  sandboxUrl: string | undefined
  stop(): Promise<void>
  failed: Promise<Error>
  exitCode?: () => number
  /** Must be called after the greeting; absent without other processes, whose logs wait for this. */
  greeted?: () => void
}

/** Starts everything in this process, or nothing on a failure. Throws StartError with the remedy. */
export async function start(
  config: Config,
  log: Logger,
  build: Build,
  onStep: (title: string) => void,
): Promise<Running> {
  const components = createComponents(log)
  try {
    const { shared, adminTokenFile, sandbox, ended } = await prepare(config, log, components, onStep)
    onStep('Starting the service')
    const { address } = await serve(config, shared, { log, build, components })
    await sandbox?.postTo(`${address}/public/v1/webhooks/whatsapp`)
    return { address, adminTokenFile, sandboxUrl: sandbox?.url, stop: components.stop, failed: ended }
  } catch (error) {
    await components.stop()
    throw startErrorOf(error)
  }
}

/** A database that goes away during the start is reported without a stack. */
export const startErrorOf = (error: unknown): unknown =>
  isDatabaseDown(error)
    ? new StartError(
        `The database went away while Parley was starting (${messageOf(error)}): start Parley again once it answers`,
        error,
      )
    : error
