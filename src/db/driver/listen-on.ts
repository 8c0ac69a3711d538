import { setTimeout as pause } from 'node:timers/promises'
import { escapeIdentifier } from 'pg'
import { run } from './execution.ts'
import { connectionError } from './session/database-session.ts'
import type { Servers } from './session/servers.ts'
import { Statement } from './statement.ts'

const RETRY_MS = 500

export type Listening = { unlisten(): Promise<void> }

type ListenOptions = {
  channel: string
  onNotice(payload: string): void
  /** Called whenever listening begins: earlier notices are lost. */
  onListening(): void
  closing: AbortSignal
}

/** Listens on a separate connection, replaced when lost. Rejects when the first attempt fails. */
export async function listenOn(servers: Servers, options: ListenOptions): Promise<Listening> {
  const ending = new AbortController()
  const closing = AbortSignal.any([ending.signal, options.closing])
  const first = await subscribe(servers, { ...options, closing })
  void keep(servers, { ...options, closing }, first)
  return { unlisten: async () => ending.abort() }
}

type Subscription = { lost: Promise<void> }

async function keep(servers: Servers, options: ListenOptions, first: Subscription): Promise<void> {
  const { closing } = options
  await first.lost
  while (!closing.aborted) {
    const next = await subscribe(servers, options).catch(() => undefined)
    await (next === undefined ? pause(RETRY_MS, undefined, { signal: closing }).catch(() => {}) : next.lost)
  }
}

async function subscribe(
  servers: Servers,
  { channel, onNotice, onListening, closing }: ListenOptions,
): Promise<Subscription> {
  const session = await servers.connect(closing)
  const lost = new Promise<void>((resolve) => {
    session.belongTo({ onLost: () => resolve(), onIdle: () => {} })
  })
  session.client.on('notification', ({ payload = '' }) => {
    if (!closing.aborted) onNotice(payload)
  })
  const end = () => session.destroy(connectionError('CONNECTION_ENDED', 'Listening has ended'))
  closing.addEventListener('abort', end)
  void lost.then(() => closing.removeEventListener('abort', end))
  if (closing.aborted) end()
  try {
    const listen = new Statement([`listen ${escapeIdentifier(channel)}`], [], 'simple')
    await run(listen, (execution) => execution.start(session))
  } catch (error) {
    end()
    throw error
  }
  onListening()
  return { lost }
}
