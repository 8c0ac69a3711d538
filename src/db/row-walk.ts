import { type Db, type Fragment, sql } from './connect.ts'
import { toSnakeCase } from './driver/sql.ts'
import { inputRows } from './input-rows.ts'

type Pause = () => Promise<void>

type Walk<Row> = {
  readonly table: string
  readonly members: readonly (keyof Row & string)[]
  readonly where: Fragment
  /** Rows to read per statement, including unwanted ones. */
  readonly window: number
}

const ATTEMPTS = 3

/** Walks a company's rows by id, awaiting `pause` after each window. Repeats a window up to twice if `work` returns false. */
export async function walkRows<Row>(
  db: Db,
  companyId: number,
  walk: Walk<Row>,
  pause: Pause,
  work: (rows: readonly Row[]) => Promise<unknown>,
): Promise<void> {
  for (let [after, attempt] = [0, 1]; ; ) {
    const { last, rows } = await readWindow(db, companyId, walk, after)
    if (last === null) return
    const isDone = (await work(rows)) !== false || attempt === ATTEMPTS
    after = isDone ? last : after
    attempt = isDone ? 1 : attempt + 1
    await pause()
  }
}

async function readWindow<Row>(
  db: Db,
  companyId: number,
  { table, members, where, window }: Walk<Row>,
  after: number,
): Promise<{ last: number | null; rows: readonly Row[] }> {
  const fields = members.map((member) => `'${member}', ${toSnakeCase(member)}`)
  const [part] = await db<{ last: number | null; rows: readonly Row[] }[]>`
    select
      max(id) as last,
      coalesce(json_agg(json_build_object(${sql.unsafe(fields.join(', '))}) order by id) filter (where ${where}), '[]') as rows
    from (
      select * from ${db(table)} where company_id = ${companyId} and id > ${after} order by id limit ${window}
    ) as part
  `
  return part ?? { last: null, rows: [] }
}

const WINDOW = 5_000
const WRITTEN_AT_ONCE = 500

type Refold<Row, Member extends keyof Row & string> = Pick<Walk<Row>, 'table' | 'members' | 'where'> & {
  /** The folded text. */
  readonly member: Member
  fold(row: Row): string
}

/** Folds a column of a company's rows again. Skips rows locked or changed meanwhile. */
export const refoldTexts = <Member extends string, Row extends { id: number } & Record<Member, string | null>>(
  db: Db,
  companyId: number,
  { member, fold, ...walk }: Refold<Row, Member>,
  pause: Pause,
): Promise<void> =>
  walkRows(db, companyId, { ...walk, window: WINDOW }, pause, async (rows) => {
    const changed = rows
      .map((row) => ({ id: row.id, former: row[member], text: fold(row) }))
      .filter(({ former, text }) => former !== text)
    let written = 0
    for (let at = 0; at < changed.length; at += WRITTEN_AT_ONCE) {
      const texts = changed.slice(at, at + WRITTEN_AT_ONCE)
      written += await writeTexts(db, companyId, walk.table, toSnakeCase(member), texts)
      await pause()
    }
    return written === changed.length
  })

async function writeTexts(
  db: Db,
  companyId: number,
  table: string,
  column: string,
  texts: readonly { id: number; former: string | null; text: string }[],
): Promise<number> {
  const written = await db`
    with input as materialized (
      select * from ${inputRows(texts, { bigint: ['id'], text: ['former', 'text'] })}
    ),
    free as (
      select stored.id, input.text
      from ${db(table)} stored
      join input on input.id = stored.id
      where stored.company_id = ${companyId} and stored.${db(column)} is not distinct from input.former
      order by stored.id
      for no key update of stored skip locked
    )
    update ${db(table)} stored
    set ${db(column)} = free.text
    from free
    where (stored.company_id, stored.id) = (${companyId}, free.id)
  `
  return written.count
}
