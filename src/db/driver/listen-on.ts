import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { escapeIdentifier } from 'pg'
import { execute } from './query.ts'
import type { Servers } from './servers.ts'
import { connectionError } from './session.ts'
import { command } from './sql.ts'

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
  const lost = once(session.lost, 'abort').then(() => {})
  session.client.on('notification', ({ payload = '' }) => {
    if (!closing.aborted) onNotice(payload)
  })
  const end = () => session.destroy(connectionError('CONNECTION_ENDED', 'Listening has ended'))
  closing.addEventListener('abort', end)
  session.lost.addEventListener('abort', () => closing.removeEventListener('abort', end))
  if (closing.aborted) end()
  try {
    await execute(session, command(`listen ${escapeIdentifier(channel)}`, 'simple'))
  } catch (error) {
    end()
    throw error
  }
  onListening()
  return { lost }
}
