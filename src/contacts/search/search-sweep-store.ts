import { type Db, jsonRows, sql } from '../../db/connect.ts'
import { TEXT_MEMBERS, TEXT_NAMES, type Texts } from '../../people/contact-record.ts'

type SearchRow = Partial<Texts> & { id: number; email: string | null; phone: string | null; searchText: string }

const NAME_COLUMNS = sql.unsafe(
  TEXT_NAMES.filter((name) => TEXT_MEMBERS[name].isName)
    .map((name) => TEXT_MEMBERS[name].column)
    .join(', '),
)

/** Reads non-ASCII contacts among the next `limit` after an id; `last` is null at the end. */
export async function readSearchRows(
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
export async function writeSearchTexts(db: Db, companyId: number, texts: readonly RefoldedText[]): Promise<number> {
  const rows = await db`
    with input as materialized (
      select * from jsonb_to_recordset(${jsonRows(db, texts)}) as input (id bigint, former text, text text)
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
