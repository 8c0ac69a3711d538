import { type Db, type Fragment, jsonRows, sql } from '../../db/connect.ts'

/** Returns the contacts whose customers have a ledger entry, also under the keyed hash of an erased identity. */
export const findNamedInLedger = (tx: Db, contacts: readonly { companyId: number; contactId: number }[]) =>
  tx<{ companyId: number; contactId: number }[]>`
    select input.company_id, input.contact_id
    from jsonb_to_recordset(${jsonRows(
      tx,
      contacts.map(({ companyId, contactId }) => ({ company_id: companyId, contact_id: contactId })),
    )}) as input (company_id bigint, contact_id bigint)
    where (select true from consents where consents.company_id = input.company_id limit 1)
      and ${isInLedger(
        sql`
          select identity.identity
          from customers customer
          join customer_identities identity
            on (identity.company_id, identity.customer_id) = (customer.company_id, customer.id)
          where (customer.company_id, customer.contact_id) = (input.company_id, input.contact_id)
        `,
      )}
  `

/**
 * Finds a ledger entry under an identity (a query with one column), its keyed hash, or a contact with this number.
 * Lateral with limits forces index probes, whatever the statistics.
 */
export const isInLedger = (identities: Fragment): Fragment => sql`
  exists (
    select
    from (${identities}) as own (identity)
    cross join lateral (
      (
        select true
        from unnest(array[own.identity, keyed_hash(input.company_id, own.identity)]) as form (identity)
        join consents on (consents.company_id, consents.identity) = (input.company_id, form.identity)
        limit 1
      )
      union all
      (
        select true
        from contacts
        join consents on (consents.company_id, consents.contact_id) = (contacts.company_id, contacts.id)
        where (contacts.company_id, contacts.phone_identity) = (input.company_id, own.identity)
          and contacts.deleted_at is null
        limit 1
      )
    ) as entry
  )
`
