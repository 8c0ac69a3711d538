import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, monotonicMs } from '../clock.ts'
import { enqueuedEvent } from '../gupshup/platform-event.ts'
import type { NumberWebhook } from '../world/account.ts'
import type { Accepted, World } from '../world/world.ts'
import { envelopesOf, numberChange } from './envelope.ts'
import { statusOf } from './status.ts'
import type { Webhook } from './webhook.ts'

type Due = { atMs: number; status: string; message: Accepted }

export type StatusFeedDeps = { world: World; webhook: Webhook; clock: Clock; delayMs: number }

/** Sends `sent` and then `delivered` for each message announced, many in one body when there is much. */
export type StatusFeed = { announce(message: Accepted): void; forget(): void; stop(): void }

const BATCH = 200
/** Beyond this many in waiting, further messages get no statuses: the service is not taking them. */
const WAITING_LIMIT = 50_000
const ATTEMPTS = 5
const RETRY_MS = 1_000

/** Posts `sent` after `delayMs` and `delivered` after twice that. A body is posted up to five times. */
export function startStatusFeed(deps: StatusFeedDeps): StatusFeed {
  // Each queue is in order of time by itself, since all of its items wait equally long.
  const sent: Due[] = []
  const delivered: Due[] = []
  const stopped = new AbortController()
  let running = false

  const run = async () => {
    running = true
    while (!stopped.signal.aborted) {
      const next = Math.min(sent[0]?.atMs ?? Infinity, delivered[0]?.atMs ?? Infinity)
      if (next === Infinity) break
      await pause(Math.max(next - monotonicMs(), 0), stopped.signal)
      // `sent` goes first, so that no message is delivered before it was sent.
      const now = monotonicMs()
      const batch = takeDue(sent, now, BATCH)
      batch.push(...takeDue(delivered, now, BATCH - batch.length))
      if (batch.length > 0) await post(deps, batch, stopped.signal)
    }
    running = false
  }

  return {
    announce: (message) => {
      if (sent.length >= WAITING_LIMIT) return
      const nowMs = monotonicMs()
      sent.push({ atMs: nowMs + deps.delayMs, status: 'sent', message })
      delivered.push({ atMs: nowMs + 2 * deps.delayMs, status: 'delivered', message })
      if (!running) void run()
    },
    forget: () => {
      sent.length = 0
      delivered.length = 0
    },
    stop: () => stopped.abort(),
  }
}

function takeDue(queue: Due[], nowMs: number, most: number): Due[] {
  const limit = Math.min(most, queue.length)
  let count = 0
  while (count < limit && (queue[count]?.atMs ?? Infinity) <= nowMs) count += 1
  return queue.splice(0, count)
}

/** Like the provider, tries again for a while when the service does not take them, so that order is kept. */
async function post(deps: StatusFeedDeps, batch: Due[], signal: AbortSignal): Promise<void> {
  const groups = Map.groupBy(batch, ({ message }) => deps.world.numbers.get(message.phoneNumberId)?.webhook)
  for (const [own, its] of groups) await postGroup(deps, its, own, signal)
}

/** The statuses of messages whose numbers have the same webhook. */
async function postGroup(
  { world, webhook, clock }: StatusFeedDeps,
  batch: Due[],
  own: NumberWebhook | undefined,
  signal: AbortSignal,
): Promise<void> {
  const at = clock.now()
  const changes = [...Map.groupBy(batch, ({ message }) => message.phoneNumberId)].flatMap(([id, its]) => {
    const number = world.numbers.get(id)
    if (number === undefined) return []
    const statuses = its.map(({ message, status }) => statusOf(world, message, status, at, {}))
    return [numberChange(number, 'messages', { statuses })]
  })
  // Gupshup first reports which wamid belongs to the id of its answer.
  const enqueued = batch.flatMap(({ message, status }) => (status === 'sent' ? (enqueuedEvent(message, at) ?? []) : []))
  for (const body of [...enqueued, ...envelopesOf(changes, at)]) await postRepeatedly(webhook, body, own, signal)
}

async function postRepeatedly(
  webhook: Webhook,
  body: unknown,
  own: NumberWebhook | undefined,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS && !signal.aborted; attempt += 1) {
    if ((await webhook.post(body, own)).delivered) return
    await pause(RETRY_MS, signal)
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal, ref: false }).catch(() => {})
