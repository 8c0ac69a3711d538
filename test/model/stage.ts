import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { connect } from '../../src/db/connect.ts'
import { fixedClock } from '../../src/platform/clock.ts'
import { endFile } from '../file-end.ts'
import { WEBHOOK } from '../provider-webhook.ts'
import { startTemplate } from '../run/template.ts'
import { eventually, startTestService } from '../service.ts'
import { temporaryFolder } from '../temporary-folder.ts'

/** Marketing templates need no open window: only consent can refuse them. A busy machine answers late. */
const CONFIG = { marketingWindow: 'provider', providerTimeoutMs: 30_000 } as const

/**
 * A service on a database of its own, with a sandbox. `isTimed`: its clock stands still until a history moves it; otherwise
 * it is the system's, and several histories run at once.
 */
export async function startStage({ isTimed, templateUrl }: { isTimed: boolean; templateUrl?: string }) {
  const clock = isTimed ? fixedClock(new Date()) : undefined
  const database = templateUrl === undefined ? {} : { templateUrl }
  const service = await startTestService({ config: CONFIG, ...database, ...(clock && { clock }) })
  const db = connect(service.databaseUrl, { max: 1 })
  return { service, clock, post, close: () => db.end() }

  /** The provider posts an event, again while the service is busy; resolves when the service has handled it. */
  async function post(event: object): Promise<void> {
    const call = () => service.call(service.url, 'POST', WEBHOOK, event)
    let { status, text } = await call()
    await eventually(async () => {
      if (status === 503) ({ status, text } = await call())
      return status !== 503
    }, 30_000)
    if (status !== 200) throw new Error(`The service answered an event with ${status}: ${text}`)
    const waiting = (await queued()).map(({ id }) => id)
    if (waiting.length === 0) return
    await eventually(async () => {
      const left = new Set((await queued()).map(({ id }) => id))
      return waiting.every((id) => !left.has(id))
    }, 30_000)
  }

  function queued() {
    return db<{ id: string }[]>`select id::text from inbound_events`
  }
}

export type Stage = Awaited<ReturnType<typeof startStage>>

/** Runs outside of vitest, on a PostgreSQL of its own; `close` stops everything that was started on it. */
export async function startDatabase() {
  const folder = await mkdtemp(join(temporaryFolder(), 'parley-model-'))
  const server = await startTemplate(folder)
  const close = async () => {
    await endFile()
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
  return { templateUrl: server.url, close }
}
