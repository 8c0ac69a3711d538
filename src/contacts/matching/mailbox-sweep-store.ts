import type { Db } from '../../db/connect.ts'

/** Non-ASCII keys in a row window; `last` is null at the end. */
type KeyWindow = { readonly last: number | null; readonly keys: readonly string[] }

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
