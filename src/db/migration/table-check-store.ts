import { StartError } from '../../platform/start-error.ts'
import type { Db } from '../connect.ts'

/** Throws StartError with the remedy for tables that are missing or that this role can't read and write. */
export async function checkTables(db: Db, names: string[]): Promise<void> {
  const rows = await db<{ name: string; isMissing: boolean }[]>`
    with requested as (select name, to_regclass(quote_ident(name))::oid as id from unnest(${names}::text[]) as name)
    select name, id is null as is_missing
    from requested
    where id is null
      or not (
        has_table_privilege(id, 'select') and has_table_privilege(id, 'insert')
        and has_table_privilege(id, 'update') and has_table_privilege(id, 'delete')
      )
    order by name
  `
  const [missing, closed] = [rows.filter((row) => row.isMissing), rows.filter((row) => !row.isMissing)]
  if (missing.length > 0) {
    throw new StartError(
      `The database lacks ${listed(missing)}, which its migrations created: restore the whole backup, or begin with an empty database`,
    )
  }
  if (closed.length > 0) {
    throw new StartError(
      `The role of DATABASE_URL may not read and write ${listed(closed)}: grant what deploy/roles.sql grants, as the owner of the tables`,
    )
  }
}

const SHOWN = 5

function listed(rows: { name: string }[]): string {
  const names = rows.slice(0, SHOWN).map(({ name }) => name)
  const more = rows.length - names.length
  return `${rows.length === 1 ? 'the table' : 'the tables'} ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
