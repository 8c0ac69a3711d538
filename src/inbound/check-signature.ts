import { LRUCache } from 'lru-cache'
import type { Db } from '../db/connect.ts'
import { parseInbound } from './parse-inbound.ts'
import { findAppSecrets } from './routing-store.ts'
import { verifyHubSignature } from './signature.ts'

const TTL_MS = 3_000
const MAX_IDS = 20_000

export type SignatureCheck = (body: Buffer, header: string | undefined) => Promise<boolean>

/**
 * Makes the check of `X-Hub-Signature-256` (decisions: Provider-facing webhook): a body about senders that carry an app
 * secret must be signed with it, over its raw bytes. Which senders a body is about is read by the very parser that
 * handles it later. Secrets are known again 3 s after a change at the latest; while no sender carries one, bodies are
 * not even parsed here.
 */
export function createSignatureCheck(deps: {
  db: Db
  decrypt: (sealed: string) => string
  anySecret: () => Promise<boolean>
}): SignatureCheck {
  const secrets = new LRUCache<string, { list: readonly string[] }>({ max: MAX_IDS, ttl: TTL_MS })

  const load = async (ids: readonly string[]): Promise<void> => {
    const rows = await findAppSecrets(deps.db, ids)
    for (const id of ids) {
      const own = rows.filter((row) => row.phoneNumberId === id || row.wabaAccountId === id)
      secrets.set(id, { list: own.map((row) => deps.decrypt(row.appSecret)) })
    }
  }

  return async (body, header) => {
    if (!(await deps.anySecret())) return true
    const ids = idsOf(body)
    const missing = ids.filter((id) => !secrets.has(id))
    if (missing.length > 0) await load(missing)
    const wanted = new Set(ids.flatMap((id) => secrets.get(id)?.list ?? []))
    return [...wanted].every((secret) => verifyHubSignature(body, header, secret))
  }
}

function idsOf(body: Buffer): string[] {
  const parsed = parseInbound(body)
  if (parsed.kind === 'unreadable') return []
  const ids = parsed.items.flatMap(({ route }) => {
    if (route.by === 'sender') return [route.phoneNumberId]
    return route.by === 'account' ? [route.wabaAccountId] : []
  })
  return [...new Set(ids)]
}
