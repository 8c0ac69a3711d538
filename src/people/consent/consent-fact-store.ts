import { type Db, sql } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'
import { emailKey } from '../../platform/text/email-address.ts'
import type { Channel } from '../contact-record.ts'
import { emailPlace } from '../contact-store.ts'
import { addressIdentity, addressIn, type ConsentEntry } from './consent.ts'
import { type ConsentFacts, type LedgerContact, type LedgerCustomer, NO_FACTS } from './consent-ledger.ts'

/** A person to look up, by identity (also `mailto:` and an address in lower case), contact, or both. */
export type PersonKey = {
  readonly companyId: number
  readonly identity?: string | null
  readonly contactId?: number | null
}

/** Maximum number of contacts to read per phone number, oldest first. */
const SHARING_MAX = 100

/** Reads the facts behind a person's consent, by company. Returns an erased person's entries by identity. */
export async function readConsentFacts(
  db: Db,
  keys: readonly PersonKey[],
  channels: readonly Channel[],
): Promise<(companyId: number) => ConsentFacts> {
  const rows = keys.length === 0 ? [] : await selectFacts(db, keys, channels)
  const byCompany = new Map(rows.map((row) => [row.companyId, toFacts(row)]))
  return (companyId) => byCompany.get(companyId) ?? NO_FACTS
}

type FactsRow = {
  companyId: number
  customers: { id: number; contactId: number; identities: { identity: string; retiredAt: string | null }[] }[]
  contacts: LedgerContact[]
  entries: (Omit<ConsentEntry, 'saidAt'> & { saidAt: string })[]
}

const toFacts = ({ customers, contacts, entries }: FactsRow): ConsentFacts => ({
  customers: customers.map(
    ({ identities, ...customer }): LedgerCustomer => ({
      ...customer,
      identities: identities.map(({ identity, retiredAt }) => ({
        identity,
        retiredAt: retiredAt === null ? null : new Date(retiredAt),
      })),
    }),
  ),
  contacts: contacts.map((contact) => ({ ...contact, emailKey: contact.emailKey && emailKey(contact.emailKey) })),
  entries: entries.map(({ saidAt, identity, ...entry }) => ({
    ...entry,
    identity: identity && toKey(identity),
    saidAt: new Date(saidAt),
  })),
})

/** Rows written before internationalized domain spellings were unified have another key. */
const toKey = (identity: string): string => {
  const address = addressIn(identity)
  return address === undefined ? identity : addressIdentity(emailKey(address))
}

const selectFacts = (db: Db, keys: readonly PersonKey[], channels: readonly Channel[]) => db<FactsRow[]>`
  with key as materialized (
    select distinct company_id, identity, contact_id
    from ${inputRows(keys.map(toRow), { bigint: ['companyId', 'contactId'], text: ['identity'] })}
  ),
  customer as materialized (${customersOfKeys}),
  link as materialized (
    select customer.company_id, customer.id as customer_id, identity.identity, identity.retired_at
    from customer
    cross join lateral (
      -- Until it became known that a number is another person's, its entries were the customer's.
      select customer_identities.identity, customer_identities.left_at as retired_at
      from customer_identities
      where (customer_identities.company_id, customer_identities.customer_id) = (customer.company_id, customer.id)
    ) as identity
  ),
  contact as materialized (${contactsOfKeys}),
  name as materialized (${namesOfKeys}),
  entry as materialized (${newestEntries(channels)})
  select
    company.company_id,
    (
      select coalesce(json_agg(json_build_object(
        'id', customer.id,
        'contactId', customer.contact_id,
        'identities', (
          select coalesce(json_agg(json_build_object('identity', link.identity, 'retiredAt', link.retired_at)), '[]')
          from link
          where (link.company_id, link.customer_id) = (customer.company_id, customer.id)
        )
      )), '[]')
      from customer
      where customer.company_id = company.company_id
    ) as customers,
    (
      select coalesce(json_agg(json_build_object(
        'id', contact.id,
        'emailKey', contact.email_key,
        'phoneIdentity', contact.phone_identity,
        'isLiving', contact.is_living,
        'emailConsent', contact.email_consent,
        'whatsappConsent', contact.whatsapp_consent
      )), '[]')
      from contact
      where contact.company_id = company.company_id
    ) as contacts,
    (
      ${entriesAsJson}
    ) as entries
  from (select distinct company_id from key) as company
`

const entriesAsJson = sql`
  select coalesce(json_agg(json_build_object(
    'id', entry.id,
    'channel', entry.channel,
    'identity', entry.identity,
    'contactId', entry.contact_id,
    'value', entry.value,
    'saidAt', entry.said_at,
    'source', entry.source
  )), '[]')
  from entry
  where entry.company_id = company.company_id
`

const toRow = ({ companyId, identity = null, contactId = null }: PersonKey) => ({
  companyId,
  identity,
  contactId,
})

const customersOfKeys = sql`
  select found.company_id, found.id, customers.contact_id
  from (
    select found.company_id, found.customer_id as id
    from key
    cross join lateral find_customer(key.company_id, key.identity) as found
    union
    select key.company_id, own.id
    from key
    cross join lateral (
      select customers.id from customers where (customers.company_id, customers.contact_id) = (key.company_id, key.contact_id)
    ) as own
  ) as found
  cross join lateral (
    select customers.contact_id
    from customers
    where (customers.company_id, customers.id) = (found.company_id, found.id)
    limit 1
  ) as customers
`

/** Includes living contacts sharing a mailbox, in any domain spelling, or a current number. */
const contactsOfKeys = sql`
  select found.company_id, found.id, contact.*
  from (
    select key.company_id, key.contact_id as id from key where key.contact_id is not null
    union
    select customer.company_id, customer.contact_id from customer
    union
    select number.company_id, holder.id
    from (
      select key.company_id, key.identity from key where key.identity ~ '^[0-9]'
      union
      select link.company_id, link.identity from link where link.identity ~ '^[0-9]' and link.retired_at is null
    ) as number
    cross join lateral (
      select contacts.id
      from contacts
      where (contacts.company_id, contacts.phone_identity) = (number.company_id, number.identity)
        and contacts.deleted_at is null
      order by contacts.id
      limit ${SHARING_MAX}
    ) as holder
    union
    select key.company_id, reader.id
    from key
    cross join lateral (
      select contacts.id
      from contacts
      where contacts.company_id = key.company_id
        and ${emailPlace} = substr(key.identity, 8)
        and contacts.deleted_at is null
      limit 1
    ) as owner
    cross join lateral (
      select owner.id
      union all
      (
        select twin.other_id
        from mailbox_twins twin
        where (twin.company_id, twin.contact_id) = (key.company_id, owner.id)
        limit ${SHARING_MAX}
      )
    ) as reader
    where key.identity like 'mailto:%'
    union
    select key.company_id, owner.contact_id
    from key
    cross join lateral (
      select twin.contact_id
      from mailbox_twins twin
      where (twin.company_id, twin.other_id) = (key.company_id, key.contact_id)
      limit 1
    ) as owner
  ) as found
  cross join lateral (
    select
      contacts.email_key, contacts.phone_identity, contacts.deleted_at is null as is_living, contacts.email_consent,
      contacts.whatsapp_consent
    from contacts
    where (contacts.company_id, contacts.id) = (found.company_id, found.id)
    limit 1
  ) as contact
`

const namesOfKeys = sql`
  select named.company_id, named.identity, array[named.identity, keyed_hash(named.company_id, named.identity)] as forms, link.retired_at
  from (
    select key.company_id, key.identity from key where key.identity is not null
    union
    select link.company_id, link.identity from link
    union
    select contact.company_id, contact.phone_identity from contact where contact.phone_identity is not null
    union
    select contact.company_id, 'mailto:' || contact.email_key from contact where contact.email_key is not null
  ) as named
  left join link
    on (link.company_id, link.identity) = (named.company_id, named.identity) and link.retired_at is not null
`

/** Newest entry per identity and contact; for a retired number also the newest one until its retirement. */
const newestEntries = (channels: readonly Channel[]) => sql`
  select name.company_id, newest.id, channel.name as channel, name.identity, newest.contact_id, newest.value, newest.said_at,
    newest.source
  from name
  cross join unnest(name.forms) as form (identity)
  cross join unnest(${[...channels]}::text[]) as channel (name)
  cross join unnest(array['infinity', name.retired_at]) as until (at)
  cross join lateral (
    select consents.id, consents.contact_id, consents.value, consents.said_at, consents.source
    from consents
    where (consents.company_id, consents.identity, consents.channel) = (name.company_id, form.identity, channel.name)
      and consents.said_at <= until.at
    order by consents.said_at desc, consents.id desc
    limit 1
  ) as newest
  union
  select contact.company_id, newest.id, channel.name, newest.identity, contact.id, newest.value, newest.said_at,
    newest.source
  from contact
  cross join unnest(${[...channels]}::text[]) as channel (name)
  cross join lateral (
    select consents.id, consents.identity, consents.value, consents.said_at, consents.source
    from consents
    where (consents.company_id, consents.contact_id, consents.channel) = (contact.company_id, contact.id, channel.name)
    order by consents.said_at desc, consents.id desc
    limit 1
  ) as newest
`
