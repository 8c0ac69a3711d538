import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../database/database.ts'
import type { Site } from '../fault.ts'
import { PROVIDER_TIMEOUT_MS } from './gate.ts'

/** Longer than the timeout, and shorter than a connection may take. */
const SLOW_HANDSHAKE_MS = 3_600
const HANDSHAKE_MS = 800
const UNTIL_PAUSED_MS = 400
const PAUSE_MS = 4_500

/** Connections to the provider open only after the deadline of their requests: none of these may be sent then. */
export async function slowHandshakes({ stage }: Site<Database>): Promise<void> {
  stage.provider.slowDown(SLOW_HANDSHAKE_MS, PROVIDER_TIMEOUT_MS)
  await sleep(PROVIDER_TIMEOUT_MS + SLOW_HANDSHAKE_MS)
}

/** All processes are frozen while they connect to the provider, for longer than their requests may take. */
export async function pauseWhileConnecting({ stage }: Site<Database>): Promise<void> {
  stage.provider.slowDown(HANDSHAKE_MS, PAUSE_MS)
  await sleep(UNTIL_PAUSED_MS)
  await stage.processes.pause(PAUSE_MS)
}
