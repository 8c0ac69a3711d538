import type { RecordEventName } from '../../record-change.ts'
import { contactChanged } from './contact-changed.ts'
import { emailStatus } from './email-status.ts'
import type { EventKind, RecordEventKind } from './event-kind.ts'
import { messageReceived } from './message-received.ts'
import { messageStatus } from './message-status.ts'
import { templateStatus } from './template-status.ts'

/** Events about records of the API, by name. */
export const RECORD_EVENTS: { readonly [Name in RecordEventName]: RecordEventKind<Name> } = {
  'whatsapp.message.status': messageStatus,
  'whatsapp.template.status': templateStatus,
  'contact.changed': contactChanged,
  'email.status': emailStatus,
}

/** Every event that a registration can name. */
export const EVENT_KINDS: readonly EventKind[] = [messageReceived, ...Object.values(RECORD_EVENTS)]
export const EVENT_NAMES: readonly string[] = EVENT_KINDS.map(({ name }) => name)

/** The kind of an event; undefined for a name that does not exist. */
export const findEventKind = (name: string): EventKind | undefined => EVENT_KINDS.find((kind) => kind.name === name)
