import { type Db, jsonRows } from '../db/connect.ts'
import { phoneIdentity } from '../platform/text/phone.ts'

type NamedTogether = {
  readonly companyId: number
  readonly requestedIdentity: string
  readonly phone: string | null
  readonly userId: string | null
}

/** Returns entries whose number or user id leads to another customer than the requested identity. */
export async function findUnlinked<Named extends NamedTogether>(db: Db, named: readonly Named[]): Promise<Named[]> {
  const rows = named.flatMap(({ companyId, requestedIdentity, phone, userId }, place) =>
    [phone === null ? null : phoneIdentity(phone), userId]
      .filter((other) => other !== null && other !== requestedIdentity)
      .map((other) => ({ place, company_id: companyId, requested: requestedIdentity, other })),
  )
  if (rows.length === 0) return []
  const unlinked = await db<{ place: number }[]>`
    select distinct input.place
    from jsonb_to_recordset(${jsonRows(db, rows)}) as input (place integer, company_id bigint, requested text, other text)
    where (select customer_id from find_customer(input.company_id, input.requested))
      is distinct from (select customer_id from find_customer(input.company_id, input.other))
  `
  const places = new Set(unlinked.map(({ place }) => place))
  return named.filter((_, place) => places.has(place))
}
