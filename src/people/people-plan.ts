import { phoneIdentity } from '../platform/text/phone.ts'
import type { IdentityKey } from './customer-lock-store.ts'
import type { Customer, People, PersonContact, PersonConversation } from './people.ts'
import type { PeopleRows, PersonRow } from './people-store.ts'

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
