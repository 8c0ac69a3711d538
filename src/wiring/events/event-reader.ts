import { createEventReader } from '../../providers/events/event-reader.ts'
import { graphEvents } from '../../providers/graph-events/graph-events.ts'
import { gupshupEvents, gupshupExtension } from '../../providers/gupshup/gupshup-events.ts'

/** Reads the events of every provider; they all arrive at one address. */
export const eventReader = createEventReader([graphEvents([gupshupExtension]), gupshupEvents])
