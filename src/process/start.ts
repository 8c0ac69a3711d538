import type { Logger } from 'pino'
import { isDatabaseDown } from '../db/pool/failure.ts'
import type { Config } from '../platform/settings/config.ts'
import { messageOf, StartError } from '../platform/start-error.ts'
import { createComponents } from './components.ts'
import { prepare } from './prepare.ts'
import { type Build, serve } from './serve.ts'

export type Running = {
  /** Where it answers, such as http://127.0.0.1:3000. */
  address: string
  /** Where the admin token is kept; undefined when it was set. */
  adminTokenFile: string | undefined
  /** Where the sandbox is controlled; undefined when it is off. */
  sandboxUrl: string | undefined
  /** Stops all components in order: no new requests, those in flight finished, the pool closed, the database stopped. */
  stop(): Promise<void>
  /** Resolves when a part ends that should not have. */
  failed: Promise<Error>
  /** The exit code after a stop in order; absent: 0. */
  exitCode?: () => number
  /** To be called after the greeting; absent: there are no other processes whose logs wait for it. */
  greeted?: () => void
}

/**
 * Starts everything that the settings ask for in this process and resolves when requests are answered. If a
 * component cannot be started, those started before it are stopped.
 *
 * @throws StartError when the environment does not allow it: the message says what to do.
 */
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
