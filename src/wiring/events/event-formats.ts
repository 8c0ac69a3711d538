// Generated from the files <name>-events.ts of providers by `npm run generate`. Do not edit.

import { gupshupEvents, gupshupExtension } from '../../providers/gupshup/gupshup-events.ts'

/** The formats of providers that do not pass Meta's events on. */
export const FORMATS = [gupshupEvents]
/** The additions of providers to Meta's events. */
export const EXTENSIONS = [gupshupExtension]
