import type { Operation } from './operation.ts'
import type { ThingName } from './world.ts'

const BY_PARAMETER: Record<string, ThingName> = {
  chatId: 'conversation',
  email: 'contactEmail',
  address: 'contactEmail',
  logId: 'log',
  deliveryId: 'delivery',
  clientId: 'clientId',
  channelId: 'sender',
  templateId: 'emailTemplate',
}
const BY_FOLDER: Record<string, ThingName> = {
  contacts: 'contact',
  'custom-fields': 'customField',
  registrations: 'registration',
  imports: 'import',
  messages: 'message',
  'scheduled-messages': 'scheduledMessage',
  'quick-replies': 'quickReply',
  emails: 'email',
  transactionals: 'transactional',
}

/** The kind of thing that a path parameter names; undefined for one that this list does not know. */
export function thingOf({ path }: Operation, name: string): ThingName | undefined {
  const folder = /\/([\w-]+)\/\{id\}/.exec(path)?.[1] ?? ''
  return BY_PARAMETER[name] ?? BY_FOLDER[folder]
}
