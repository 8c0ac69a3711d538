import { type Db, sql } from '../../db/connect.ts'
import { inputRows, placedRows } from '../../db/input-rows.ts'
import type { Channel } from '../contact-record.ts'
import { isInLedger } from '../customer-store.ts'
import { ERASURE } from './consent.ts'

export type NewConsent = {
  readonly companyId: number
  readonly channel: Channel
  readonly identity: string | null
  readonly contactId: number | null
  readonly value: boolean
  /** Provider time, never in the future; null means now. */
  readonly saidAt: Date | null
  readonly source: string
  readonly clientId: string | null
  readonly eventId: string | null
  readonly ip?: string | null
  /** The identical entry to replace; the new one keeps the first `saidAt`. */
  readonly repeats?: number | null
}

/** Inserts entries, skipping known provider events. Ids follow input order, which breaks ties between equal times. */
export async function appendConsents(tx: Db, entries: readonly NewConsent[]): Promise<void> {
  const input = placedRows(entries, {
    bigint: ['companyId', 'contactId', 'repeats'],
    text: ['channel', 'identity', 'source', 'clientId', 'eventId', 'ip'],
    boolean: ['value'],
    timestamptz: ['saidAt'],
  })
  await tx`
    with input as (
      select * from ${input}
    ),
    repeated as (
      delete from consents using input
      where (consents.company_id, consents.id) = (input.company_id, input.repeats)
      returning input.place, consents.said_at, coalesce(consents.first_said_at, consents.said_at) as first_said_at
    )
    insert into consents (
      company_id, channel, identity, contact_id, value, said_at, first_said_at, source, client_id, event_id, ip
    )
    select
      company_id, channel, identity, contact_id, value,
      -- Times are compared in milliseconds.
      greatest(date_trunc('milliseconds', least(input.said_at, statement_timestamp())), repeated.said_at),
      first_said_at, source, client_id, event_id, ip
    from input
    left join repeated using (place)
    order by place
    on conflict (company_id, event_id, channel, identity) where event_id is not null do nothing
  `
}

type KeptOptOut = { readonly channel: Channel; readonly identity: string; readonly saidAt: Date }

/** Stores opt-outs under keyed hashes. Throws DatabaseError 23514 if the session has no key. */
export async function keepOptOuts(tx: Db, companyId: number, optOuts: readonly KeptOptOut[]): Promise<void> {
  await tx`
    insert into consents (company_id, channel, identity, value, said_at, source)
    select ${companyId}, channel, keyed_hash(${companyId}, identity), false, said_at, ${ERASURE}
    from ${inputRows(optOuts, { text: ['channel', 'identity'], timestamptz: ['saidAt'] })}
  `
}

/** Returns the contacts whose customers have a ledger entry, also under the keyed hash of an erased identity. */
export const findNamedInLedger = (tx: Db, contacts: readonly { companyId: number; contactId: number }[]) =>
  tx<{ companyId: number; contactId: number }[]>`
    select input.company_id, input.contact_id
    from ${inputRows(contacts, { bigint: ['companyId', 'contactId'] })}
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
