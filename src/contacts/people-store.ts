import { arrayText } from '../db/array-text.ts'
import type { Db } from '../db/connect.ts'
import type { Contact } from './contact-record.ts'
import { contactColumns, emailPlace } from './contact-store.ts'

/** Whom a write names: an address in lower case, a phone's identity, a contact's id. */
export type Named = {
  readonly emailKey: string | null
  readonly phoneIdentity: string | null
  readonly id?: number | undefined
}

/**
 * Locks whoever is meant by the named, and the identities in `also`, until the transaction ends. Answers the identities
 * that are locked besides, and which of the named mean somebody.
 */
export async function lockContacts(
  tx: Db,
  companyId: number,
  named: readonly Named[],
  also: readonly string[],
): Promise<{ locked: string[]; met: number[] }> {
  const [row] = await tx<{ locked: string[] | null; met: number[] | null }[]>`
    select *
    from lock_contacts(
      ${companyId},
      ${arrayText(named.map(({ emailKey }) => emailKey))}::text[],
      ${arrayText(named.map(({ phoneIdentity }) => phoneIdentity))}::text[],
      ${named.map(({ id }) => id ?? null)}::bigint[],
      ${arrayText(also)}::text[]
    )
  `
  return { locked: row?.locked ?? [], met: (row?.met ?? []).map((place) => place - 1) }
}

export type Known = Contact & { readonly emailKey: string | null; readonly phones: readonly string[] }

/**
 * The living contacts that are meant by the named; of each, the phone identities among them that mean it. Their rows
 * stay locked until the transaction ends.
 */
export async function readMeant(tx: Db, companyId: number, named: readonly Named[]): Promise<Known[]> {
  return tx<Known[]>`
    with given as materialized (
      select *
      from unnest(
        ${arrayText(named.map(({ emailKey }) => emailKey))}::text[],
        ${arrayText(named.map(({ phoneIdentity }) => phoneIdentity))}::text[],
        ${named.map(({ id }) => id ?? null)}::bigint[]
      ) as given (email_key, phone, id)
    ),
    found as materialized (
      select meant.id, coalesce(array_agg(distinct meant.phone) filter (where meant.phone is not null), '{}') as phones
      from given
      cross join lateral (
        (
          select contacts.id, null as phone
          from contacts
          where company_id = ${companyId} and ${emailPlace(tx)} = given.email_key and deleted_at is null
        )
        union all
        (
          select contact_id, given.phone
          from contact_identities
          where (company_id, identity) = (${companyId}, given.phone)
          limit 1
        )
        union all
        select given.id, null
      ) as meant
      group by meant.id
    )
    select ${contactColumns(tx)}, contacts.email_key, found.phones
    from found
    join contacts on (contacts.company_id, contacts.id) = (${companyId}, found.id)
    where contacts.deleted_at is null
    order by contacts.id
    for no key update of contacts
  `
}

/** Whether somebody else who lives has this phone and no email. */
export async function hasTwinWithoutEmail(
  tx: Db,
  companyId: number,
  phoneIdentity: string,
  id: number,
): Promise<boolean> {
  const twins = await tx`
    select id
    from contacts
    where (company_id, phone_identity) = (${companyId}, ${phoneIdentity})
      and deleted_at is null
      and email_key is null
      and id <> ${id}
    limit 1
  `
  return twins.length > 0
}
