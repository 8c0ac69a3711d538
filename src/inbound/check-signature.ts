import { createHash, timingSafeEqual } from 'node:crypto'
import { parseInbound } from './parse-inbound.ts'
import type { SecretCache } from './secret-cache.ts'
import { verifyHubSignature } from './signature.ts'

/** What came with a body to prove where it is from. */
export type Proof = { signature: string | undefined; secret: string | undefined }

/** Answers at once where nothing has to be looked up. */
export type SignatureCheck = (body: Buffer, proof: Proof) => boolean | Promise<boolean>

/**
 * Makes the check of what a body proves (decisions: Provider-facing webhook): a body about senders that carry an app
 * secret must be signed with it in `X-Hub-Signature-256`, over its raw bytes; a body about senders that carry a webhook
 * secret must bring that secret. The parser that handles the body later also reads here which senders it is about. While
 * no sender carries a secret, bodies are not parsed here.
 *
 * The check is made once, before the body is stored: a body that was stored before its sender got a secret is handled.
 */
export function createSignatureCheck(secrets: SecretCache): SignatureCheck {
  const checkAll = async (body: Buffer, { signature, secret }: Proof): Promise<boolean> => {
    if (!(await secrets.isAny())) return true
    const { appSecrets, webhookSecrets } = await secrets.requiredBy(idsOf(body))
    return (
      appSecrets.every((one) => verifyHubSignature(body, signature, one)) &&
      webhookSecrets.every((one) => isSame(secret, one))
    )
  }
  return (body, proof) => secrets.isAny() === false || checkAll(body, proof)
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

const isSame = (given: string | undefined, expected: string): boolean =>
  given !== undefined && timingSafeEqual(digest(given), digest(expected))

/** The numbers, accounts and apps that a body's items are about. */
function idsOf(body: Buffer): string[] {
  const parsed = parseInbound(body)
  if (parsed.kind === 'unreadable') return []
  const ids = parsed.items.flatMap(({ route }) => {
    if (route.by === 'sender') return [route.phoneNumberId]
    if (route.by === 'account') return [route.wabaAccountId]
    return route.by === 'app' ? [route.gupshupAppId] : []
  })
  return [...new Set(ids)]
}
