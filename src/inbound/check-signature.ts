import { createHash, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { monotonicMs } from '../clock.ts'
import type { Db } from '../db/connect.ts'
import { parseInbound } from './parse-inbound.ts'
import { findSecrets, hasSecret, type SenderSecrets } from './routing-store.ts'
import { verifyHubSignature } from './signature.ts'

/** How long it is believed which senders carry which secrets. */
const TTL_MS = 3_000
const MAX_IDS = 20_000

/** What came with a body to prove where it is from. */
export type Proof = { signature: string | undefined; secret: string | undefined }

/** Answers at once where nothing has to be looked up. */
export type SignatureCheck = (body: Buffer, proof: Proof) => boolean | Promise<boolean>

type Wanted = { appSecrets: readonly string[]; webhookSecrets: readonly string[] }

/**
 * Makes the check of what a body proves (decisions: Provider-facing webhook): a body about senders that carry an app
 * secret must be signed with it in `X-Hub-Signature-256`, over its raw bytes; about senders that carry a webhook secret
 * it must bring that. Which senders a body is about is read by the very parser that handles it later. While no sender
 * carries a secret, bodies are not parsed here.
 */
export function createSignatureCheck(deps: { db: Db; decrypt: (sealed: string) => string }): SignatureCheck {
  const wantedBy = new LRUCache<string, Wanted>({ max: MAX_IDS, ttl: TTL_MS })
  const isAnySecret = remembered(() => hasSecret(deps.db))

  const load = async (ids: readonly string[]): Promise<Map<string, Wanted>> => {
    const rows = await findSecrets(deps.db, ids)
    const opened = (sealed: (string | null)[]) => sealed.filter((one) => one !== null).map(deps.decrypt)
    return new Map(
      ids.map((id) => {
        const own = rows.filter((row) => namesOf(row).includes(id))
        const appSecrets = opened(own.map((row) => row.appSecret))
        return [id, { appSecrets, webhookSecrets: opened(own.map((row) => row.webhookSecret)) }]
      }),
    )
  }

  const checkAll = async (body: Buffer, { signature, secret }: Proof): Promise<boolean> => {
    if (!(await isAnySecret())) return true
    const ids = idsOf(body)
    const found = new Map(ids.flatMap((id) => entryOf(id, wantedBy.get(id))))
    const missing = ids.filter((id) => !found.has(id))
    const loaded = missing.length > 0 ? await load(missing) : new Map<string, Wanted>()
    for (const [id, wanted] of loaded) wantedBy.set(id, wanted)
    const all = [...found.values(), ...loaded.values()]
    return (
      [...new Set(all.flatMap((wanted) => wanted.appSecrets))].every((one) =>
        verifyHubSignature(body, signature, one),
      ) && [...new Set(all.flatMap((wanted) => wanted.webhookSecrets))].every((one) => isSame(secret, one))
    )
  }
  return (body, proof) => isAnySecret() === false || checkAll(body, proof)
}

/** What was found is believed for a while; then the next to ask wait for one fresh answer. */
function remembered(find: () => Promise<boolean>): () => boolean | Promise<boolean> {
  let known: { value: boolean; untilMs: number } | undefined
  let finding: Promise<boolean> | undefined
  const findAnew = async () => {
    try {
      const value = await find()
      known = { value, untilMs: monotonicMs() + TTL_MS }
      return value
    } finally {
      finding = undefined
    }
  }
  return () => {
    if (known !== undefined && monotonicMs() < known.untilMs) return known.value
    finding ??= findAnew()
    return finding
  }
}

const entryOf = (id: string, wanted: Wanted | undefined): [string, Wanted][] => (wanted ? [[id, wanted]] : [])

const namesOf = ({ phoneNumberId, wabaAccountId, appId, appName }: SenderSecrets): (string | null)[] => [
  phoneNumberId,
  wabaAccountId,
  appId,
  appName,
]

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
