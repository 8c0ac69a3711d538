import { messageNotFound, validationError } from '../../platform/errors.ts'
import type { SendRequest } from '../send-request.ts'

export type QuotedMessage = { id: number; wamid: string }

export type FindQuoted = (
  companyId: number,
  senderId: number,
  identity: string,
  messageId: number,
) => Promise<{ wamid: string | null } | undefined>

/** Not the provider's: erased messages, or messages without id. */
export const OWN_WAMID = /^(erased:|sha256\.)/

/** Finds the message to answer or react to, if any; 404 if not in the conversation, 422 if unknown to the provider. */
export async function findQuotedMessage(
  find: FindQuoted,
  companyId: number,
  senderId: number,
  identity: string,
  { content, quoted }: SendRequest,
): Promise<QuotedMessage | undefined> {
  const id = content.type === 'reaction' ? content.reaction.messageId : quoted
  if (id === undefined) return undefined
  const message = await find(companyId, senderId, identity, id)
  if (message === undefined) throw messageNotFound()
  const { wamid } = message
  if (wamid === null || OWN_WAMID.test(wamid)) {
    const path = content.type === 'reaction' ? 'reaction.messageId' : 'quoted'
    throw validationError([{ path, message: 'names a message that has no id at the provider' }])
  }
  return { id, wamid }
}
