import { createEventReader } from '../../providers/events/event-reader.ts'
import { graphEvents } from '../../providers/graph-events/graph-events.ts'
import { EXTENSIONS, FORMATS } from './event-formats.ts'

/** Reads events of all providers, which share one address. */
export const eventReader = createEventReader([graphEvents(EXTENSIONS), ...FORMATS])
