import { createEventReader } from '../../providers/events/event-reader.ts'
import { graphEvents } from '../../providers/graph-events/graph-events.ts'
import { EXTENSIONS, FORMATS } from './event-formats.ts'

/** Reads the events of every provider; they all arrive at one address. */
export const eventReader = createEventReader([graphEvents(EXTENSIONS), ...FORMATS])
