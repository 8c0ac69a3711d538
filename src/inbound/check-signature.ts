import { LRUCache } from 'lru-cache'
import type { Db } from '../db/connect.ts'
import { parseInbound } from './parse-inbound.ts'
import { findAppSecrets, hasAppSecret } from './routing-store.ts'
import { verifyHubSignature } from './signature.ts'

/** How long it is believed which senders carry which secrets. */
const TTL_MS = 3_000
const MAX_IDS = 20_000

export type SignatureCheck = (body: Buffer, header: string | undefined) => Promise<boolean>

/**
 * Makes the check of `X-Hub-Signature-256` (decisions: Provider-facing webhook): a body about senders that carry an app
 * secret must be signed with it, over its raw bytes. Which senders a body is about is read by the very parser that
 * handles it later. While no sender carries a secret, bodies are not parsed here.
 */
export function createSignatureCheck(deps: { db: Db; decrypt: (sealed: string) => string }): SignatureCheck {
  const secretsOf = new LRUCache<string, readonly string[]>({ max: MAX_IDS, ttl: TTL_MS })
  const isAnySigned = new LRUCache<'any', { value: boolean }>({
    max: 1,
    ttl: TTL_MS,
    fetchMethod: async () => ({ value: await hasAppSecret(deps.db) }),
  })

  const load = async (ids: readonly string[]): Promise<void> => {
    const rows = await findAppSecrets(deps.db, ids)
    for (const id of ids) {
      const own = rows.filter((row) => row.phoneNumberId === id || row.wabaAccountId === id)
      secretsOf.set(
        id,
        own.map((row) => deps.decrypt(row.appSecret)),
      )
    }
  }

  return async (body, header) => {
    if (!(await isAnySigned.fetch('any'))?.value) return true
    const ids = idsOf(body)
    const missing = ids.filter((id) => !secretsOf.has(id))
    if (missing.length > 0) await load(missing)
    const wanted = new Set(ids.flatMap((id) => secretsOf.get(id) ?? []))
    return [...wanted].every((secret) => verifyHubSignature(body, header, secret))
  }
}

/** The numbers and accounts that a body's items are about. */
function idsOf(body: Buffer): string[] {
  const parsed = parseInbound(body)
  if (parsed.kind === 'unreadable') return []
  const ids = parsed.items.flatMap(({ route }) => {
    if (route.by === 'sender') return [route.phoneNumberId]
    return route.by === 'account' ? [route.wabaAccountId] : []
  })
  return [...new Set(ids)]
}
