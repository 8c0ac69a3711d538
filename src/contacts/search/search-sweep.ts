import { type Db, sql } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'
import { TEXT_MEMBERS, TEXT_NAMES, type Texts } from '../../people/contact-record.ts'
import { searchText } from '../../people/contact-store.ts'
import { type Pause, passOverCompanies } from '../../queue/company-pass.ts'

const WINDOW = 5_000
const WRITTEN_AT_ONCE = 500
const ATTEMPTS = 3

type SearchSweepDeps = {
  db: Db
  /** Must await `pause` between steps. */
  refoldProfiles(db: Db, companyId: number, pause: Pause): Promise<void>
}

/** Refolds search texts from earlier versions. */
export const sweepSearchTexts = ({ db, refoldProfiles }: SearchSweepDeps, signal: AbortSignal): Promise<void> =>
  passOverCompanies(db, 'search_passes', signal, async (companyId, pause) => {
    await refoldContacts(db, companyId, pause)
    await refoldProfiles(db, companyId, pause)
  })

async function refoldContacts(db: Db, companyId: number, pause: Pause): Promise<void> {
  for (let [after, attempt] = [0, 1]; ; ) {
    const { last, rows } = await readSearchRows(db, companyId, after, WINDOW)
    if (last === null) return
    const changed = rows
      .map((row) => ({ id: row.id, former: row.searchText, text: searchText(row) }))
      .filter(({ former, text }) => !haveSameLines(former, text))
    let written = 0
    for (let at = 0; at < changed.length; at += WRITTEN_AT_ONCE) {
      written += await writeSearchTexts(db, companyId, changed.slice(at, at + WRITTEN_AT_ONCE))
      await pause()
    }
    const isDone = written === changed.length || attempt === ATTEMPTS
    after = isDone ? last : after
    attempt = isDone ? 1 : attempt + 1
    await pause()
  }
}

/** A phone number added later is the last line, so line order is ignored. */
const haveSameLines = (one: string, other: string): boolean =>
  one === other || one.split('\n').toSorted().join('\n') === other.split('\n').toSorted().join('\n')

type SearchRow = Partial<Texts> & { id: number; email: string | null; phone: string | null; searchText: string }

const NAME_COLUMNS = sql.unsafe(
  TEXT_NAMES.filter((name) => TEXT_MEMBERS[name].isName)
    .map((name) => TEXT_MEMBERS[name].column)
    .join(', '),
)

/** Reads non-ASCII contacts among the next `limit` after an id; `last` is null at the end. */
async function readSearchRows(
  db: Db,
  companyId: number,
  after: number,
  limit: number,
): Promise<{ last: number | null; rows: SearchRow[] }> {
  const [end] = await db<{ last: number | null }[]>`
    select max(id) as last
    from (
      select id from contacts where company_id = ${companyId} and id > ${after} order by id limit ${limit}
    ) as part
  `
  const last = end?.last ?? null
  if (last === null) return { last, rows: [] }
  const rows = await db<SearchRow[]>`
    select id, email, phone, search_text, ${NAME_COLUMNS}
    from contacts
    where company_id = ${companyId} and id > ${after} and id <= ${last}
      and deleted_at is null
      and (search_text like '%X%' or email_key like '%xn--%')
    order by id
  `
  return { last, rows }
}

type RefoldedText = { readonly id: number; readonly former: string; readonly text: string }

/** Replaces unchanged search texts, skipping locked contacts. */
async function writeSearchTexts(db: Db, companyId: number, texts: readonly RefoldedText[]): Promise<number> {
  const rows = await db`
    with input as materialized (
      select * from ${inputRows(texts, { bigint: ['id'], text: ['former', 'text'] })}
    ),
    free as (
      select contacts.id, input.text
      from contacts
      join input on input.id = contacts.id
      where contacts.company_id = ${companyId} and contacts.search_text = input.former and contacts.deleted_at is null
      order by contacts.id
      for no key update of contacts skip locked
    )
    update contacts
    set search_text = free.text
    from free
    where (contacts.company_id, contacts.id) = (${companyId}, free.id)
    returning contacts.id
  `
  return rows.length
}
