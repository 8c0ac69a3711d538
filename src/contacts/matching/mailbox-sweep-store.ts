import type { Db } from '../../db/connect.ts'

/** Passes in all: processes of the version before may write rows until the second one. */
const PASSES = 2
const HOURS_BETWEEN = 24
/** A pass without progress for this long was left by a process that died. */
const LEFT_MINUTES = 10

/** Starts the next pass, or one that was left; undefined: none is due. */
export async function startPass(db: Db): Promise<number | undefined> {
  const [pass] = await db<{ number: number }[]>`
    insert into mailbox_passes (number)
    select coalesce(max(number) filter (where ended_at is null), max(number) + 1, 1)
    from mailbox_passes
    having coalesce(max(ended_at) < now() - make_interval(hours => ${HOURS_BETWEEN}), true)
      and count(ended_at) < ${PASSES}
    on conflict (number) do update set started_at = now()
    where mailbox_passes.ended_at is null
      and mailbox_passes.started_at < now() - make_interval(mins => ${LEFT_MINUTES})
    returning number
  `
  return pass?.number
}

/** Records that a pass makes progress. */
export async function touchPass(db: Db, number: number): Promise<void> {
  await db`update mailbox_passes set started_at = now() where number = ${number}`
}

/** Ends a pass. */
export async function endPass(db: Db, number: number): Promise<void> {
  await db`update mailbox_passes set ended_at = now() where number = ${number}`
}

/** Companies with data, removed ones too. */
export async function listCompanyIds(db: Db): Promise<number[]> {
  const rows = await db<{ id: number }[]>`select id from companies order by id`
  return rows.map(({ id }) => id)
}

/** Texts beyond ASCII in the next rows after an id, and the last of these rows; null: there are none. */
export type KeyWindow = { readonly last: number | null; readonly keys: readonly string[] }

/** Reads the keys of addresses of contacts. */
export async function readContactKeys(db: Db, companyId: number, after: number, limit: number): Promise<KeyWindow> {
  const [row] = await db<KeyWindow[]>`
    select max(id) as last, coalesce(array_agg(distinct email_key) filter (where email_key ~ '[^\\x01-\\x7f]'), '{}') as keys
    from (
      select id, email_key
      from contacts
      where company_id = ${companyId} and id > ${after}
      order by id
      limit ${limit}
    ) as part
  `
  return row ?? { last: null, keys: [] }
}

/** Reads the addresses of entries of the ledger. */
export async function readConsentKeys(db: Db, companyId: number, after: number, limit: number): Promise<KeyWindow> {
  const [row] = await db<KeyWindow[]>`
    select
      max(id) as last,
      coalesce(
        array_agg(distinct substr(identity, 8)) filter (where identity like 'mailto:%' and identity ~ '[^\\x01-\\x7f]'), '{}'
      ) as keys
    from (
      select id, identity
      from consents
      where company_id = ${companyId} and id > ${after}
      order by id
      limit ${limit}
    ) as part
  `
  return row ?? { last: null, keys: [] }
}
