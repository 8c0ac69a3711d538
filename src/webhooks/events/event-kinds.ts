import type { EventKind } from './event-kind.ts'
import { messageReceived } from './message-received.ts'
import { RECORD_EVENTS } from './record-kinds.ts'

export const EVENT_KINDS: readonly EventKind[] = [messageReceived, ...Object.values(RECORD_EVENTS)]
export const EVENT_NAMES: readonly string[] = EVENT_KINDS.map(({ name }) => name)

export const findEventKind = (name: string): EventKind | undefined => EVENT_KINDS.find((kind) => kind.name === name)
