import type { VoiceCall } from '../../providers/events/event-item.ts'

const EVENTS_LIMIT = 20

/** Merges call events in any order; returns undefined for a repeated event. */
export function addToCall(known: VoiceCall, event: VoiceCall): VoiceCall | undefined {
  const added = event.events.filter((name) => !known.events.includes(name))
  if (added.length === 0 || known.events.length >= EVENTS_LIMIT) return undefined
  const [ended, other] = event.endedAt === null ? [known, event] : [event, known]
  return {
    direction: known.direction,
    // Later events, such as a recording, imply the call has ended.
    status: ended.endedAt === null && other.status === 'completed' ? 'completed' : ended.status,
    startedAt: ended.startedAt ?? other.startedAt,
    endedAt: ended.endedAt,
    events: [...known.events, ...added],
  }
}
