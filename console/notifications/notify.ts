import type { QueryClient } from '@tanstack/react-query'
import type { Conversation, Message } from '../../client/src/generated/schemas.ts'
import { conversationQuery } from '../inbox/conversation-queries.ts'
import { nameOf } from '../inbox/list/conversation-row.tsx'
import { SCOPE } from '../scope.ts'
import { viewLock } from './view.ts'

const EVERY_MS = 60_000
const NOTIFIED = `parley.notified.${SCOPE}`
/** The latest message of each conversation that an event brought: others are changes of what was there. */
const latest = new Map<number, number>()

type Deps = { client: QueryClient; me: string; open: (chatId: number) => void }

/**
 * Shows a notification for a new message of a customer whose conversation is assigned to the user or to no one: at most once a
 * minute for each conversation in all tabs, and not while one of them shows it.
 */
export async function notify({ client, me, open }: Deps, chatId: number, message: Message): Promise<void> {
  if (!isNew(chatId, message)) return
  const record = await client.ensureQueryData(conversationQuery(chatId))
  if (record.assignee !== null && record.assignee !== me) return
  await navigator.locks.request(NOTIFIED, async () => {
    const { held = [] } = await navigator.locks.query()
    if (held.some(({ name }) => name === viewLock(SCOPE, chatId))) return
    if (isRecent(chatId)) return
    show(record, message, open)
  })
}

function isNew(chatId: number, { id, direction, editedAt, revokedAt, reaction }: Message): boolean {
  const isLater = id > (latest.get(chatId) ?? 0)
  if (isLater) latest.set(chatId, id)
  return isLater && direction === 'inbound' && editedAt === null && revokedAt === null && reaction === null
}

/** Whether the conversation was notified of within the minute; if not, it is now. */
function isRecent(chatId: number): boolean {
  const now = Date.now()
  const stored: Record<string, number> = JSON.parse(localStorage.getItem(NOTIFIED) ?? '{}')
  const recent = Object.fromEntries(Object.entries(stored).filter(([, at]) => now - at < EVERY_MS))
  if (recent[chatId] !== undefined) return true
  localStorage.setItem(NOTIFIED, JSON.stringify({ ...recent, [chatId]: now }))
  return false
}

function show(record: Conversation, { text }: Message, open: (chatId: number) => void): void {
  const notification = new Notification(nameOf(record), {
    body: text ?? '',
    tag: `${SCOPE} ${record.chatId}`,
    icon: '/console/icon.svg',
    // Its own sound is louder.
    silent: true,
  })
  notification.onclick = () => {
    window.focus()
    open(record.chatId)
    notification.close()
  }
  playQuietly()
}

const LOUDNESS = 0.04
const LENGTH_S = 0.25

/** A short tone; a browser in which the user has not pressed anything yet stays silent. */
function playQuietly(): void {
  const context = new AudioContext()
  const tone = context.createOscillator()
  const volume = context.createGain()
  volume.gain.setValueAtTime(LOUDNESS, context.currentTime)
  volume.gain.exponentialRampToValueAtTime(LOUDNESS / 100, context.currentTime + LENGTH_S)
  tone.frequency.value = 660
  tone.connect(volume).connect(context.destination)
  tone.onended = () => void context.close()
  tone.start()
  tone.stop(context.currentTime + LENGTH_S)
}
