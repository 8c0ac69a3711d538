import { type Db, sql } from '../db/connect.ts'
import { inputRows } from '../db/input-rows.ts'
import { phoneIdentity } from '../platform/text/phone.ts'
import { freeHolder, freeHolders, type IdentityKey } from './customer-store.ts'
import {
  type Customer,
  createPeople,
  type IdentityState,
  type People,
  type PersonContact,
  type PersonConversation,
} from './people.ts'

type Holder = IdentityKey & { id: number; phone: string }

type PersonRow = {
  companyId: number
  id: number
  contactId: number
  phone: string | null
  contactPhone: string | null
  contactPhoneIdentity: string | null
  isLiving: boolean
  holders: { identity: string; id: number; phone: string }[]
  /** Identity, account, and three times in milliseconds since 1970: reported, retired, left. */
  identities: [string, string | null, number, number | null, number | null][]
  /** Id, sender, the sender's account, user id, message count, last inbound message in milliseconds since 1970. */
  conversations: [number, number, string, string | null, number, number | null][]
}

export type PeopleRows = { holders: Holder[]; persons: PersonRow[] }

/** Reads the oldest free contact per phone identity. The caller must hold the locks. */
export const readHolders = (tx: Db, keys: readonly IdentityKey[]): Promise<Holder[]> =>
  keys.length === 0 ? Promise.resolve([]) : selectHolders(tx, keys)

/** Reads the customers behind identities. The caller must hold their locks. */
export const readPersons = (tx: Db, keys: readonly IdentityKey[]): Promise<PersonRow[]> =>
  selectPersons(
    tx,
    [...Map.groupBy(keys, ({ companyId }) => companyId)].map(([companyId, own]) => ({
      companyId,
      identities: own.map(({ identity }) => identity),
    })),
  )

// Lateral with a limit forces an index probe per row, whatever the statistics.
const selectHolders = (tx: Db, keys: readonly IdentityKey[]) =>
  tx<Holder[]>`
    select input.company_id, input.identity, holder.id, holder.phone
    from ${inputRows(keys, { bigint: ['companyId'], text: ['identity'] })}
    cross join lateral (${freeHolder(sql`input.company_id`, sql`input.identity`)}) as holder
  `

const selectPersons = (tx: Db, companies: readonly { companyId: number; identities: readonly string[] }[]) =>
  tx<PersonRow[]>`
    select
      customer.company_id, customer.id, customer.contact_id, customer.phone,
      contact.phone as contact_phone, contact.phone_identity as contact_phone_identity,
      contact.deleted_at is null as is_living,
      case when contact.deleted_at is null then '[]' else (
        select coalesce(json_agg(json_build_object('identity', held.identity, 'id', held.id, 'phone', held.phone)), '[]')
        from (${freeHolders(sql`customer.company_id`, sql`customer.id`)}) as held
      ) end as holders,
      (
        select coalesce(json_agg(json_build_array(
          identity.identity, identity.account, (date_part('epoch', identity.reported_at) * 1000)::bigint,
          (date_part('epoch', identity.retired_at) * 1000)::bigint, ceil(extract(epoch from identity.left_at) * 1000)::bigint
        )), '[]')
        from customer_identities identity
        where (identity.company_id, identity.customer_id) = (customer.company_id, customer.id)
      ) as identities,
      (
        select coalesce(json_agg(json_build_array(
          conversation.id, conversation.sender_id, sender.waba_account_id, conversation.user_id, conversation.message_count,
          (date_part('epoch', conversation.last_inbound_at) * 1000)::bigint
        )), '[]')
        from conversations conversation
        join senders sender on (sender.company_id, sender.id) = (conversation.company_id, conversation.sender_id)
        where (conversation.company_id, conversation.customer_id) = (customer.company_id, customer.id)
      ) as conversations
    from (
      select distinct found.company_id, found.customer_id
      from ${inputRows(companies, { bigint: ['companyId'], 'text[]': ['identities'] })}
      cross join lateral unnest(input.identities) as named (identity)
      cross join lateral find_customer(input.company_id, named.identity) as found
    ) as person
    cross join lateral (
      select customers.*
      from customers
      where (customers.company_id, customers.id) = (person.company_id, person.customer_id)
      limit 1
    ) as customer
    cross join lateral (
      select contacts.phone, contacts.phone_identity, contacts.deleted_at
      from contacts
      where (contacts.company_id, contacts.id) = (customer.company_id, customer.contact_id)
      limit 1
    ) as contact
  `

export function toPeople(locked: readonly IdentityKey[], { holders, persons }: PeopleRows): Map<number, People> {
  const companies = new Map<number, People>()
  const newIds = { last: 0 }
  for (const [companyId, keys] of Map.groupBy(locked, (key) => key.companyId)) {
    companies.set(
      companyId,
      createPeople(
        keys.map(({ identity }) => identity),
        newIds,
      ),
    )
  }
  for (const { companyId, ...row } of persons) {
    const people = companies.get(companyId)
    if (people !== undefined) addPerson(people, row)
  }
  for (const { companyId, identity, ...holder } of holders) {
    const people = companies.get(companyId)
    if (people !== undefined) addHolder(people, identity, holder)
  }
  return companies
}

function addPerson(people: People, row: Omit<PersonRow, 'companyId'>): void {
  const identities = new Map<string, IdentityState>()
  for (const [identity, account, reportedAt, retiredAt, leftAt] of row.identities) {
    identities.set(identity, { account, reportedAt, retiredAt, leftAt })
    if (retiredAt === null || !/^[0-9]/.test(identity)) people.leads.set(identity, row.id)
  }
  const customer: Customer = {
    ...{ id: row.id, contactId: row.contactId, phone: row.phone, wroteAt: null, identities, conversations: [] },
  }
  for (const [id, senderId, account, userId, messageCount, inboundAt] of row.conversations) {
    if (inboundAt !== null) customer.wroteAt = Math.max(customer.wroteAt ?? inboundAt, inboundAt)
    customer.conversations.push({ id, senderId, account, customerId: row.id, userId, messageCount, isClosed: false })
  }
  people.customers.set(row.id, customer)
  people.contacts.set(row.contactId, {
    ...{ id: row.contactId, phone: row.contactPhone, phoneIdentity: row.contactPhoneIdentity },
    ...{ isLiving: row.isLiving, firstName: null },
  })
  for (const { identity, ...holder } of row.holders) addHolder(people, identity, holder)
}

function addHolder(people: People, identity: string, { id, phone }: { id: number; phone: string | null }): void {
  people.holders.set(identity, id)
  if (people.contacts.has(id)) return
  people.contacts.set(id, { id, phone, phoneIdentity: identity, isLiving: true, firstName: null })
}

type OfCompany<Row> = Row & { readonly companyId: number }

/** Rows to write. Negative ids stand for rows to create. */
export type PeoplePlan = {
  newContacts: OfCompany<{ contact: PersonContact; customer: Customer }>[]
  contactPhones: OfCompany<{ contactId: number; phone: string }>[]
  /** Phone identities to remove from all contacts except those above. */
  releasedPhones: IdentityKey[]
  newCustomers: OfCompany<{ customer: Customer }>[]
  changedCustomers: OfCompany<{ customer: Customer }>[]
  removedIdentities: OfCompany<{ customerId: number; identity: string }>[]
  newIdentities: OfCompany<{ customerId: number; identity: string } & Identity>[]
  conversations: OfCompany<{ conversation: PersonConversation }>[]
}
type Identity = { account: string | null; reportedAt: number; retiredAt: number | null; leftAt: number | null }

export function planPeople(companies: ReadonlyMap<number, People>, { persons }: PeopleRows): PeoplePlan {
  const plan: PeoplePlan = {
    ...{ newContacts: [], contactPhones: [], releasedPhones: [], newCustomers: [], changedCustomers: [] },
    ...{ removedIdentities: [], newIdentities: [], conversations: [] },
  }
  const rowsOf = Map.groupBy(persons, ({ companyId }) => companyId)
  for (const [companyId, people] of companies) {
    const rows = new Map(rowsOf.get(companyId)?.map((row) => [row.id, row]))
    for (const customer of people.customers.values()) planCustomer(plan, companyId, customer, rows.get(customer.id))
    planContacts(plan, companyId, people)
    for (const identity of people.released) plan.releasedPhones.push({ companyId, identity })
  }
  return plan
}

function planCustomer(plan: PeoplePlan, companyId: number, customer: Customer, row: PersonRow | undefined): void {
  if (row === undefined) {
    if (customer.identities.size === 0 && customer.conversations.length === 0) return
    plan.newCustomers.push({ companyId, customer })
  } else if (row.contactId !== customer.contactId || row.phone !== customer.phone) {
    plan.changedCustomers.push({ companyId, customer })
  }
  planIdentities(plan, companyId, customer, row)
  const before = new Map(row?.conversations.map(([id, , , userId]) => [id, userId]))
  for (const conversation of customer.conversations) {
    const { id, userId, isClosed } = conversation
    const isSame = before.has(id) && before.get(id) === userId && !isClosed
    if (id > 0 && !isSame) plan.conversations.push({ companyId, conversation })
  }
}

function planIdentities(plan: PeoplePlan, companyId: number, { id, identities }: Customer, row: PersonRow | undefined) {
  const customerId = id
  const before = new Map(row?.identities.map(([identity, ...members]) => [identity, members]))
  for (const identity of before.keys()) {
    if (!identities.has(identity)) plan.removedIdentities.push({ companyId, customerId, identity })
  }
  for (const [identity, state] of identities) {
    const [account, reportedAt, retiredAt] = before.get(identity) ?? []
    if (account === state.account && reportedAt === state.reportedAt && retiredAt === state.retiredAt) continue
    if (before.has(identity)) plan.removedIdentities.push({ companyId, customerId, identity })
    plan.newIdentities.push({ companyId, customerId, identity, ...state })
  }
}

function planContacts(plan: PeoplePlan, companyId: number, people: People): void {
  const customers = [...plan.newCustomers, ...plan.changedCustomers].filter((one) => one.companyId === companyId)
  const attached = new Map(customers.map(({ customer }) => [customer.contactId, customer]))
  for (const contact of people.contacts.values()) {
    const customer = attached.get(contact.id)
    if (contact.id < 0 && customer !== undefined) plan.newContacts.push({ companyId, contact, customer })
    if (contact.id > 0 && contact.isLiving && contact.phone !== null && people.changedContacts.has(contact.id)) {
      plan.contactPhones.push({ companyId, contactId: contact.id, phone: contact.phone })
    }
  }
}

/** Returns existing contacts with a new phone number, or whose customer gains or loses an identity. */
export function contactsOf(
  plan: PeoplePlan,
  companies: ReadonlyMap<number, People>,
): { companyId: number; contactId: number }[] {
  const keyOf = ({ companyId, customerId, identity }: PeoplePlan['removedIdentities'][number]) =>
    `${companyId} ${customerId} ${identity}`
  const [removed, added] = [new Set(plan.removedIdentities.map(keyOf)), new Set(plan.newIdentities.map(keyOf))]
  const identified = [...plan.newIdentities, ...plan.removedIdentities].filter(
    (one) => one.customerId > 0 && removed.has(keyOf(one)) !== added.has(keyOf(one)),
  )
  const contacts = [
    ...plan.contactPhones,
    ...plan.changedCustomers.map(({ companyId, customer }) => ({ companyId, contactId: customer.contactId })),
    ...identified.flatMap(({ companyId, customerId }) => {
      const contactId = companies.get(companyId)?.customers.get(customerId)?.contactId
      return contactId === undefined ? [] : [{ companyId, contactId }]
    }),
  ]
  return contacts
    .filter(({ companyId, contactId }) => companies.get(companyId)?.contacts.get(contactId)?.isLiving && contactId > 0)
    .map(({ companyId, contactId }) => ({ companyId, contactId }))
}

/** Returns a customer's current identities, the current number first. */
export function currentIdentities({ phone, identities }: Customer): string[] {
  const current = [...identities].flatMap(([identity, { retiredAt }]) => (retiredAt === null ? [identity] : []))
  const own = phone === null ? undefined : phoneIdentity(phone)
  return current.toSorted((one, other) => Number(other === own) - Number(one === own))
}
