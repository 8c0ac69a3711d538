// Generated from the files of kinds/ by `npm run generate`. Do not edit.

import type { RecordEventName } from '../../changes/record-change.ts'
import type { RecordEventKind } from './event-kind.ts'
import { contactChanged } from './kinds/contact-changed.ts'
import { emailStatus } from './kinds/email-status.ts'
import { messageStatus } from './kinds/message-status.ts'
import { templateStatus } from './kinds/template-status.ts'

/** Events about records of the API, by name. */
export const RECORD_EVENTS: { readonly [Name in RecordEventName]: RecordEventKind<Name> } = {
  [contactChanged.name]: contactChanged,
  [emailStatus.name]: emailStatus,
  [messageStatus.name]: messageStatus,
  [templateStatus.name]: templateStatus,
}
