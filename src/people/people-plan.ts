import { phoneIdentity } from '../platform/text/phone.ts'
import type { IdentityKey } from './customer-lock-store.ts'
import type { Customer, People, PersonContact, PersonConversation } from './people.ts'
import type { PeopleRows, PersonRow } from './people-store.ts'

type OfCompany<Row> = Row & { readonly companyId: number }

/** The rows that differ after the rules. Negative ids are of rows to be created. */
export type PeoplePlan = {
  newContacts: OfCompany<{ contact: PersonContact; customer: Customer }>[]
  /** Contacts with the phone number that they have from now on. */
  contactPhones: OfCompany<{ contactId: number; phone: string }>[]
  /** Phone identities that no contact has any more, but for those above. */
  releasedPhones: IdentityKey[]
  newCustomers: OfCompany<{ customer: Customer }>[]
  changedCustomers: OfCompany<{ customer: Customer }>[]
  removedIdentities: OfCompany<{ customerId: number; identity: string }>[]
  newIdentities: OfCompany<{ customerId: number; identity: string } & Identity>[]
  /** Conversations with another customer, another user id or another status. */
  conversations: OfCompany<{ conversation: PersonConversation }>[]
}
type Identity = { account: string | null; reportedAt: number; retiredAt: number | null; leftAt: number | null }

/** Compares people with the rows that they were read from. */
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
    // A person who turned out to be another one.
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

/** The existing contacts that get another phone number, and those of existing customers who get or lose an identity. */
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

/** The identities of a customer under which a new contact may have said something: the current number, or a group, first. */
export function currentIdentities({ phone, identities }: Customer): string[] {
  const current = [...identities].flatMap(([identity, { retiredAt }]) => (retiredAt === null ? [identity] : []))
  const own = phone === null ? undefined : phoneIdentity(phone)
  return current.toSorted((one, other) => Number(other === own) - Number(one === own))
}
