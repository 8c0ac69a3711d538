import { type Db, jsonRows } from '../../db/connect.ts'

/** Stores keyed hashes of erased messages' wamids or erased identities. */
export async function keepErasedKeys(tx: Db, companyId: number, keys: readonly string[]): Promise<void> {
  await tx`
    insert into erased_keys (company_id, hash)
    select distinct ${companyId}::bigint, keyed_hash(${companyId}, key)
    from unnest(${[...keys]}::text[]) as key
    on conflict (company_id, hash) do update set erased_at = excluded.erased_at
  `
}

type EventSubject = {
  readonly companyId: number
  readonly wamids: readonly (string | null)[]
  readonly identities: readonly string[]
  readonly arrivedAt: Date
}

/** Returns whether each event is about erased data. Without identity locks, can miss a concurrent erasure. */
export async function listErased(db: Db, subjects: readonly EventSubject[]): Promise<boolean[]> {
  const rows = subjects.map(({ companyId, wamids, identities, arrivedAt }, place) => ({
    place,
    company_id: companyId,
    wamids: wamids.filter((wamid) => wamid !== null),
    identities,
    arrived_at: arrivedAt,
  }))
  const erased = await db<{ place: number }[]>`
    select place
    from jsonb_to_recordset(${jsonRows(db, rows)}) as input (
      place integer, company_id bigint, wamids text[], identities text[], arrived_at timestamptz
    )
    where is_erased(company_id, wamids, identities, arrived_at)
  `
  const places = new Set(erased.map(({ place }) => place))
  return subjects.map((_, place) => places.has(place))
}

/** Returns the companies with an erasure in the last 30 days. */
export async function listErasing(db: Db, companyIds: readonly number[]): Promise<number[]> {
  const rows = await db<{ companyId: number }[]>`
    select company.id as company_id
    from unnest(${[...companyIds]}::bigint[]) as company (id)
    where exists (select from erased_keys where erased_keys.company_id = company.id)
  `
  return rows.map(({ companyId }) => companyId)
}
