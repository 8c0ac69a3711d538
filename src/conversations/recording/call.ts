import type { VoiceCall } from '../../providers/events/message-details.ts'

/** Events of a call that are kept; the provider has a handful. */
const EVENTS_LIMIT = 20

/** Adds an event to what is known of a call, in any order of events. Returns undefined when it came before. */
export function addToCall(known: VoiceCall, event: VoiceCall): VoiceCall | undefined {
  const added = event.events.filter((name) => !known.events.includes(name))
  if (added.length === 0 || known.events.length >= EVENTS_LIMIT) return undefined
  const [ended, other] = event.endedAt === null ? [known, event] : [event, known]
  return {
    direction: known.direction,
    // What comes of a call later, such as a recording, says that it is over.
    status: ended.endedAt === null && other.status === 'completed' ? 'completed' : ended.status,
    startedAt: ended.startedAt ?? other.startedAt,
    endedAt: ended.endedAt,
    events: [...known.events, ...added],
  }
}
