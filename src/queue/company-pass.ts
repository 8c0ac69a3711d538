import { setTimeout as sleep } from 'node:timers/promises'
import { type Db, sql } from '../db/connect.ts'

const PAUSE_MS = 20

export type Pause = () => Promise<void>

/** Rewrites all companies' rows once. A second pass a day later covers writes by previous-version processes. */
export async function passOverCompanies(
  db: Db,
  table: PassTable,
  signal: AbortSignal,
  work: (companyId: number, pause: Pause) => Promise<void>,
): Promise<void> {
  const pass = await startPass(db, table)
  if (pass === undefined) return
  const pause = async () => {
    await touchPass(db, table, pass)
    await sleep(PAUSE_MS, undefined, { signal })
  }
  try {
    for (const companyId of await listCompanyIds(db)) await work(companyId, pause)
    await endPass(db, table, pass)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

type PassTable = 'content_passes' | 'mailbox_passes' | 'search_passes'

/** Previous-version processes may write rows until the second pass. */
const PASSES = 2
const HOURS_BETWEEN = 24
const LEFT_MINUTES = 10

/** Starts the next or an abandoned pass; returns undefined if none is due. */
async function startPass(db: Db, table: PassTable): Promise<number | undefined> {
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

async function touchPass(db: Db, table: PassTable, number: number): Promise<void> {
  await db`update ${sql.unsafe(table)} set started_at = now() where number = ${number}`
}

async function endPass(db: Db, table: PassTable, number: number): Promise<void> {
  await db`update ${sql.unsafe(table)} set ended_at = now() where number = ${number}`
}

export async function listCompanyIds(db: Db): Promise<number[]> {
  const rows = await db<{ id: number }[]>`select id from companies order by id`
  return rows.map(({ id }) => id)
}
