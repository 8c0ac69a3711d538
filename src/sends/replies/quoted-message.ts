import { messageNotFound, validationError } from '../../platform/errors.ts'
import type { SendRequest } from '../send-request.ts'

/** A message that a send names: the one that it answers or reacts to. */
export type QuotedMessage = { id: number; wamid: string }

/** Reads the wamid of a message, if it is of the conversation of this sender and customer. */
export type FindQuoted = (
  companyId: number,
  senderId: number,
  identity: string,
  messageId: number,
) => Promise<{ wamid: string | null } | undefined>

/** Wamids that are no ids of the provider: of erased messages, and of those that came without an id. */
export const OWN_WAMID = /^(erased:|sha256\.)/

/**
 * The message that a send names; undefined: it names none.
 * @throws {AppError} 404 when the conversation has no such message, 422 when the provider does not know it
 */
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
