import { waIdOf } from '../phone.ts'
import type { TemplateRecord } from '../world/template.ts'
import type { Accepted } from '../world/world.ts'
import { ownIdOf } from './template-list.ts'

/** Says which wamid belongs to the id that a send was answered with; without account, metadata, and in milliseconds. */
export function enqueuedEvent(message: Accepted, at: Date) {
  if (message.gupshup === undefined) return undefined
  const status = { gs_id: message.gupshup.id, id: message.wamid, ...aboutOf(message, 'enqueued', at) }
  return bodyOf(message.gupshup.appId, status)
}

/** Gupshup's own platform failed the message before it came to Meta: flat code and reason, and no wamid. */
export function failedEvent(message: Accepted, { code, reason }: { code: number; reason: string }, at: Date) {
  if (message.gupshup === undefined) return undefined
  const { id, appId } = message.gupshup
  return bodyOf(appId, { gs_id: id, id, ...aboutOf(message, 'failed', at), code, reason })
}

const aboutOf = ({ to }: Accepted, status: string, at: Date) => ({
  recipient_id: waIdOf(to),
  status,
  timestamp: at.getTime(),
})

const bodyOf = (appId: string, status: object) => ({
  entry: [{ changes: [{ field: 'messages', value: { messaging_product: 'whatsapp', statuses: [status] } }] }],
  gs_app_id: appId,
  object: 'whatsapp_business_account',
})

/** The status of a template in Gupshup's own form: the app by its name, the template by Gupshup's id. */
export const templateEvent = (app: { name: string }, record: TemplateRecord, event: string, at: Date) => ({
  app: app.name,
  timestamp: at.getTime(),
  version: 2,
  type: 'template-event',
  payload: {
    id: ownIdOf(record.id),
    status: event.toLowerCase(),
    elementName: record.name,
    languageCode: record.language,
    ...(event === 'REJECTED' && { rejectedReason: record.rejected_reason }),
  },
})
