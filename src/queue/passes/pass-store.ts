import { type Db, sql } from '../../db/connect.ts'

/** The passes of a sweep, one row each. */
export type PassTable = 'content_passes' | 'mailbox_passes' | 'search_passes'

/** Passes in all: processes of the version before may write rows until the second one. */
const PASSES = 2
const HOURS_BETWEEN = 24
/** A pass without progress for this long was left by a process that died. */
const LEFT_MINUTES = 10

/** Starts the next pass, or one that was left; undefined: none is due. */
export async function startPass(db: Db, table: PassTable): Promise<number | undefined> {
  const passes = sql.unsafe(table)
  const [pass] = await db<{ number: number }[]>`
    insert into ${passes} as pass (number)
    select coalesce(max(number) filter (where ended_at is null), max(number) + 1, 1)
    from ${passes}
    having coalesce(max(ended_at) < now() - make_interval(hours => ${HOURS_BETWEEN}), true)
      and count(ended_at) < ${PASSES}
    on conflict (number) do update set started_at = now()
    where pass.ended_at is null
      and pass.started_at < now() - make_interval(mins => ${LEFT_MINUTES})
    returning number
  `
  return pass?.number
}

/** Records that a pass makes progress. */
export async function touchPass(db: Db, table: PassTable, number: number): Promise<void> {
  await db`update ${sql.unsafe(table)} set started_at = now() where number = ${number}`
}

/** Ends a pass. */
export async function endPass(db: Db, table: PassTable, number: number): Promise<void> {
  await db`update ${sql.unsafe(table)} set ended_at = now() where number = ${number}`
}

/** Companies with data, removed ones too. */
export async function listCompanyIds(db: Db): Promise<number[]> {
  const rows = await db<{ id: number }[]>`select id from companies order by id`
  return rows.map(({ id }) => id)
}
