import type { EventReader } from '../../providers/events/event-reader.ts'
import type { SecretCache } from './secret-cache.ts'
import { isProven, type Proof } from './signature.ts'

/** Answers at once where nothing has to be looked up. */
export type SignatureCheck = (body: Buffer, proof: Proof) => boolean | Promise<boolean>

/**
 * Makes the check of what a body proves (decisions: Provider-facing webhook): a body about senders that carry an app
 * secret must be signed with it, over its raw bytes; a body about senders that carry a webhook
 * secret must bring that secret. The parser that handles the body later also reads here which senders it is about. While
 * no sender carries a secret, bodies are not parsed here.
 *
 * For connected numbers the check is made once, before the body is stored: a body that was stored before its number got a
 * secret is handled.
 */
export function createSignatureCheck(secrets: SecretCache, events: Pick<EventReader, 'parse'>): SignatureCheck {
  const checkAll = async (body: Buffer, proof: Proof): Promise<boolean> =>
    !(await secrets.isAny()) || isProven(body, proof, await secrets.requiredBy(idsOf(events, body)))
  return (body, proof) => secrets.isAny() === false || checkAll(body, proof)
}

/** The numbers, accounts and apps that a body's items are about. */
function idsOf(events: Pick<EventReader, 'parse'>, body: Buffer): string[] {
  const parsed = events.parse(body)
  if (parsed.kind === 'unreadable') return []
  const ids = parsed.items.flatMap(({ route }) => {
    if (route.by === 'sender') return [route.phoneNumberId]
    if (route.by === 'account') return [route.wabaAccountId]
    return route.by === 'app' ? [route.appId] : []
  })
  return [...new Set(ids)]
}
