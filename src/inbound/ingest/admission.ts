import type { Db } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'
import { createStatementBatcher } from '../../db/statement-batcher.ts'
import { withTimeout } from '../../http/server/answers/answers.ts'
import { createCache, refreshed } from '../../platform/cache.ts'
import type { EventReader } from '../../providers/events/event-reader.ts'
import type { Proof } from '../event-store.ts'
import {
  type BodyReader,
  type Credentials,
  openSecrets,
  type Requirement,
  type SealedSecrets,
} from '../handling/body-reader.ts'

/** `unproven` needs no secrets; `refused` proves none of the required ones, `partly` proves some. */
type Verdict = { verdict: 'proven' | 'partly' | 'unproven'; body: Buffer; proof: Proof } | typeof REFUSED
const REFUSED = { verdict: 'refused' } as const

/** Can empty the Buffer passed in. */
export type SignatureCheck = (body: Buffer, credentials: Credentials) => Promise<Verdict>

/**
 * Creates the origin check (decisions: Provider-facing webhook). Senders with an app secret require a signature over
 * the raw bytes, those with a webhook secret that secret. After a partial proof each item must prove its own number
 * later (`verifyEarly`). A bounded scan finds at least the ids the parser will find, and refuses bodies with too many.
 * Skipped while no sender has a secret. Any number on an account can prove its events. Stored events are not checked
 * again: an event stored before its number got a secret is handled.
 */
export function createSignatureCheck(
  secrets: SecretCache,
  events: Pick<BodyReader, 'findIds' | 'prove'>,
): SignatureCheck {
  const prove = async (body: Buffer, credentials: Credentials, required: readonly Requirement[]): Promise<Verdict> => {
    const proven = await events.prove(body, { credentials, required })
    if (proven === undefined || proven.proven === 'none') return REFUSED
    const { body: bytes, proof } = proven
    if (proven.proven === 'some') return { verdict: 'partly', body: bytes, proof }
    return { verdict: required.length > 0 ? 'proven' : 'unproven', body: bytes, proof }
  }
  return async (body, credentials) => {
    if (!(await secrets.isAny())) return prove(body, credentials, [])
    const found = await events.findIds(body)
    if (found?.ids === undefined) return REFUSED
    return prove(found.body, credentials, await secrets.requiredBy([...found.ids]))
  }
}

/** Starts with the query, so that another process's change is visible within 5 s. */
const SECRETS_TTL_MS = 3_000
const MAX_IDS = 20_000

export type SecretCache = {
  isAny(): boolean | Promise<boolean>
  requiredBy(ids: readonly string[]): Promise<readonly Requirement[]>
  /** Later checks must see every change committed before. */
  drop(): void
}

/** Caches senders' secrets for 3 s. */
export function createSecretCache(deps: { db: Db; decrypt: (sealed: string) => string }): SecretCache {
  const held = createCache<string, Promise<readonly Requirement[]>>({
    name: 'sender_secrets',
    max: MAX_IDS,
    ttlMs: SECRETS_TTL_MS,
  })
  const isAny = refreshed(() => hasSecret(deps.db), SECRETS_TTL_MS)
  return {
    isAny,
    requiredBy: async (ids) => {
      let found: Promise<SenderSecrets[]> | undefined
      const load = async (id: string) => {
        found ??= findSecrets(deps.db, ids)
        return requiredFor(id, await found, deps.decrypt)
      }
      return (await Promise.all(ids.map((id) => held.get(id, () => load(id))))).flat()
    },
    drop: () => {
      isAny.drop()
      held.drop()
    },
  }
}

/** Returns what an id requires; on an account, one sender per company, so that none proves another's events. */
function requiredFor(
  id: string,
  senders: readonly SenderSecrets[],
  decrypt: (sealed: string) => string,
): readonly Requirement[] {
  const rows = senders.filter((row) => hasId(row, id))
  const isOfAccount = (row: SenderSecrets): boolean => row.wabaAccountId === id && row.phoneNumberId !== id
  const byCompany = Map.groupBy(rows.filter(isOfAccount), ({ companyId }) => companyId)
  const toRequirement = (of: Requirement['of'], choices: readonly SenderSecrets[]): Requirement => ({
    of,
    choices: openSecrets(choices, decrypt),
  })
  return [
    ...rows.filter((row) => !isOfAccount(row)).map((row) => toRequirement('number', [row])),
    ...[...byCompany.values()].map((ofCompany) => toRequirement('account', ofCompany)),
  ]
}

const hasId = ({ phoneNumberId, wabaAccountId, appId, appName }: SenderSecrets, id: string): boolean =>
  phoneNumberId === id || wabaAccountId === id || appId === id || appName === id

type SenderSecrets = SealedSecrets & {
  companyId: number
  phoneNumberId: string
  wabaAccountId: string
  appId: string | null
  appName: string | null
}

/** Finds senders with secrets by number, account or app. */
export function findSecrets(db: Db, ids: readonly string[]): Promise<SenderSecrets[]> {
  return db<SenderSecrets[]>`
    select company_id, phone_number_id, waba_account_id, app_id, app_name, app_secret, webhook_secret
    from senders
    where (app_secret is not null or webhook_secret is not null)
      and deleted_at is null
      and (
        phone_number_id = any(${ids as string[]})
        or waba_account_id = any(${ids as string[]})
        or app_id = any(${ids as string[]})
        or app_name = any(${ids as string[]})
      )
  `
}

/** Returns whether any connected sender has a secret. */
export async function hasSecret(db: Db): Promise<boolean> {
  const rows = await db`
    (select from senders where app_secret is not null and deleted_at is null limit 1)
    union all
    (select from senders where webhook_secret is not null and deleted_at is null limit 1)
  `
  return rows.length > 0
}

const SPENT_TTL_MS = 1_000
/** How long a request waits for the list; storing the body will reveal a slow or lost database. */
const PATIENCE_MS = 500
const MOST_SPENT = 10_000

/** Creates the lookup for refused clients: seconds left after over 16 MiB or 10,000 unhandled items per hour. */
export function createUnhandledBudget(db: Db): (address: string) => number | Promise<number> {
  let last: ReadonlyMap<string, number> = new Map()
  const readSpent = refreshed(async () => {
    last = new Map((await listSpent(db)).map(({ address, seconds }) => [address, seconds]))
  }, SPENT_TTL_MS)
  return (address) => {
    const spentBefore = () => last.get(address) ?? 0
    const reading = readSpent()
    if (!(reading instanceof Promise)) return spentBefore()
    return withTimeout(reading, undefined, PATIENCE_MS).then(spentBefore, spentBefore)
  }
}

/** Lists clients over the limit and the seconds until their hour ends. */
function listSpent(db: Db): Promise<{ address: string; seconds: number }[]> {
  return db<{ address: string; seconds: number }[]>`
    select address, ceil(extract(epoch from window_ends_at - now()))::integer as seconds
    from unhandled_counts
    where is_spent and window_ends_at > now()
    limit ${MOST_SPENT}
  `
}

/** Refusals are counted in batches at this interval, for up to this many addresses. */
const SPACING_MS = 250
const MAX_WAITING = 10_000

/** Creates the background counter for refused bodies; no response waits for it. */
export function createRefusalCount(db: Db, onFailure: (error: unknown) => void) {
  const count = createStatementBatcher<UnhandledCount, void>({
    run: async (counts) => {
      await countUnhandled(db, counts)
      return counts.map(() => undefined)
    },
    maxItems: MAX_WAITING,
    maxWaiting: MAX_WAITING,
    maxRunning: 1,
    spacingMs: SPACING_MS,
  })
  return (address: string, bytes: number): void => {
    count({ address, bytes, items: 1 }).catch(onFailure)
  }
}

export type UnhandledCount = { address: string; bytes: number; items: number }

/** Adds to each client's hourly count. Should be the last statement in a transaction, to keep row locks short. */
export async function countUnhandled(tx: Db, counts: readonly UnhandledCount[]): Promise<void> {
  if (counts.length === 0) return
  await tx`
    insert into unhandled_counts as existing (address, bytes, items, window_ends_at)
    select input.address, sum(input.bytes), sum(input.items), now() + interval '1 hour'
    from ${inputRows(counts, { text: ['address'], bigint: ['bytes', 'items'] })}
    group by input.address
    order by input.address -- in one order for all transactions, so that none waits for another in a circle
    on conflict (address) do update set
      bytes = excluded.bytes + case when existing.window_ends_at > now() then existing.bytes else 0 end,
      items = excluded.items + case when existing.window_ends_at > now() then existing.items else 0 end,
      window_ends_at = case when existing.window_ends_at > now() then existing.window_ends_at else excluded.window_ends_at end
  `
}

const LOCKED_TTL_MS = 3_000

/** Creates the check for bodies of companies being moved; the provider must resend. Changes show within 3 s. */
export function createLockedCheck(db: Db, events: Pick<EventReader, 'idsOf'>): (body: Buffer) => Promise<boolean> {
  const readLocked = refreshed(async () => new Set(await findLockedIds(db)), LOCKED_TTL_MS)
  return async (body) => {
    const locked = await readLocked()
    return locked.size > 0 && [...(events.idsOf(body) ?? [])].some((id) => locked.has(id))
  }
}

/** Returns up to 10,000 ids for locked companies' senders. */
export async function findLockedIds(db: Db): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select distinct named.id
    from companies company
    join senders sender on sender.company_id = company.id and sender.deleted_at is null
    cross join lateral unnest(array[sender.phone_number_id, sender.waba_account_id, sender.app_id, sender.app_name]) as named (id)
    where company.closed_at is not null and company.deleted_at is null and named.id is not null
    limit 10000
  `
  return rows.map(({ id }) => id)
}
