import { sameNumber } from './truth.ts'

/**
 * The contract about customers as a model: persons as the provider knows them, and what the provider has reported to a company.
 * It knows nothing of tables. `person` is the true writer; the service has only the identities.
 */
export type Named = { phone: string | null; userId: string | null }
export type Customer = Named & {
  person: string
  /** Another number that was dialled, and is the customer's by the answer of the provider. */
  dialled: string | null
  /** The number, in digits as written, at which answers reach the customer. */
  address: string | null
  /** Null: two customers turned out to be one, and only one of them had written. */
  hasWritten: boolean | null
  /** The contract does not say whether answers go to the number or to the user id. */
  isAddressOpen: boolean
  /** Since a report of another number that named no ids: the next user id is the customer's. */
  awaitsUserId: boolean
  /** The moment of the report that gave the customer the number. */
  phoneSince: number
  formerUserIds: string[]
}
export type Contact = {
  id: number
  phone: string | null
  email: string | null
  customer: Customer | null
  isDeleted: boolean
}
export type Conversation = {
  chatId: number
  sender: number
  customer: Customer | null
  unread: number
  texts: string[]
  /** Another conversation of the customer with the same number may have taken its place: then it leads to no one. */
  isReplaced: boolean
}

export class People {
  readonly customers: Customer[] = []
  readonly conversations: Conversation[] = []
  contacts: Contact[] = []

  byPhone(phone: string | null): Customer | undefined {
    if (phone === null) return undefined
    return this.customers.find((one) => one.dialled === phone || one.phone === sameNumber(phone))
  }

  byUserId(userId: string | null): Customer | undefined {
    if (userId === null) return undefined
    return this.customers.find((one) => one.userId === userId || one.formerUserIds.includes(userId))
  }

  /** The customer of a message, an echo, an answer or a status with these identities, which may teach the service some. */
  identify({ phone, userId }: Named, person: string, at: number): Customer {
    const existing = this.byUserId(userId)
    const holder = this.byPhone(phone)
    if (existing === undefined && holder !== undefined && (userId === null || learns(holder))) {
      holder.userId = userId ?? holder.userId
      holder.awaitsUserId = userId === null && holder.awaitsUserId
      if (userId !== null) holder.phoneSince = at
      return holder
    }
    const customer = existing ?? this.add(person)
    if (existing === undefined) customer.userId = userId
    if (phone !== null && holder !== customer) this.giveNumber(customer, phone, holder, at)
    else if (phone !== null) customer.phoneSince = Math.max(at, customer.phoneSince)
    return customer
  }

  /** Answers go to the identity under which the customer wrote last. */
  writesUnder(customer: Customer, phone: string | null): void {
    if (phone !== null && this.byPhone(phone) === customer) customer.address = phone
    if (phone === null && customer.hasWritten === false) customer.address = null
    customer.isAddressOpen = phone === null && customer.hasWritten === null
    customer.hasWritten = true
  }

  /** A new customer, of whom nothing is known but the dialled number. */
  dial(person: string, dialled: string): Customer {
    return Object.assign(this.add(person), { dialled, address: dialled })
  }

  private add(person: string): Customer {
    const customer = {
      ...{ person, phone: null, dialled: null, address: null, isAddressOpen: false, userId: null },
      ...{ hasWritten: false, awaitsUserId: false, phoneSince: 0, formerUserIds: [] },
    }
    this.customers.push(customer)
    return customer
  }

  /** A number is of the customer who was last reported with it. The same number and one user id: one customer. */
  private giveNumber(customer: Customer, phone: string, holder: Customer | undefined, at: number): void {
    if (holder !== undefined && holder.phoneSince > at) return
    const isOnePerson = holder !== undefined && holder.userId === null
    if (isOnePerson) {
      // Who has written by user id alone is not answered at a number that was dialled.
      const address = holder.hasWritten || !customer.hasWritten ? holder.address : phone
      if (customer.phone !== phone) this.leaveNumber(customer)
      this.join(holder, customer)
      Object.assign(customer, { phone, address, dialled: holder.dialled })
    } else if (holder !== undefined) this.leaveNumber(holder)
    if (customer.phone !== phone) this.leaveNumber(customer)
    customer.phone = phone
    customer.address ??= phone
    customer.phoneSince = at
    if (!isOnePerson) this.moveContact(customer, phone)
  }

  /** No contact keeps a number that its customer has left. */
  private leaveNumber(customer: Customer): void {
    const own = [customer.phone, customer.dialled]
    for (const one of this.contacts) if (one.phone !== null && own.includes(one.phone)) one.phone = null
    Object.assign(customer, { phone: null, dialled: null, address: null })
  }

  /** The contact gets the number, too, or gives way to the contact that has it, unless it has been given another one. */
  private moveContact(customer: Customer, phone: string): void {
    const living = this.contacts.filter((one) => !one.isDeleted)
    const attached = living.find((one) => one.customer === customer)
    if (attached === undefined || attached.phone !== null) return
    const holder = living.find((one) => one.customer === null && one.phone === phone)
    if (holder === undefined) {
      attached.phone = phone
      return
    }
    attached.customer = null
    holder.customer = customer
  }

  /** Both are one person: their conversations stay. */
  join(former: Customer, customer: Customer): void {
    customer.userId ??= former.userId
    const hadContact = this.contacts.some((one) => !one.isDeleted && one.customer === customer)
    for (const one of [...this.conversations, ...this.contacts]) if (one.customer === former) one.customer = customer
    for (const one of this.conversations) {
      if (one.customer === customer) one.isReplaced = this.conversationsOf(customer, one.sender).length > 1
    }
    if (customer.hasWritten !== former.hasWritten) customer.hasWritten = null
    this.forget(former)
    if (!hadContact && customer.address !== null) this.moveContact(customer, sameNumber(customer.address))
  }

  forget(customer: Customer): void {
    this.customers.splice(this.customers.indexOf(customer), 1)
  }

  /** `user_changed_number`: the number that the customer leaves belongs to no one. */
  changeNumber(customer: Customer, to: string, userId: string | null, at: number): void {
    this.giveNumber(customer, to, this.byPhone(to), at)
    if (customer.userId !== null) customer.formerUserIds.push(customer.userId)
    if (userId === null) customer.awaitsUserId = true
    else customer.userId = userId
  }

  /** `user_changed_user_id`: the new id is the current one. */
  changeUserId(customer: Customer, userId: string): void {
    if (customer.userId !== null) customer.formerUserIds.push(customer.userId)
    customer.userId = userId
    customer.awaitsUserId = false
  }

  /** One, or after two customers turned out to be one, several. */
  conversationsOf(customer: Customer, sender: number): Conversation[] {
    return this.conversations.filter((one) => one.customer === customer && one.sender === sender)
  }

  /**
   * The customer has a contact: the one attached, else the oldest living one with the number of answers, else with another
   * number, else a new one.
   */
  contactFor(customer: Customer): Contact | 'new' {
    const living = this.living()
    const own = numbersOf(customer)
    const free = living.filter((one) => one.customer === null && one.phone !== null && own.includes(one.phone))
    const found = this.attachedTo(customer) ?? free.find(({ phone }) => phone === own[0]) ?? free[0]
    if (found !== undefined) found.customer = customer
    return found ?? 'new'
  }

  attachedTo(customer: Customer): Contact | undefined {
    return this.living().find((one) => one.customer === customer)
  }

  /**
   * The contact of a write with a number: the oldest with it, else that of its customer, unless it was given a number that is
   * none of the customer's.
   */
  contactOfNumber(phone: string): Contact | undefined {
    const holder = this.living().find((one) => one.phone === phone)
    const customer = this.byPhone(phone)
    if (customer === undefined) return holder
    const contact = this.contactFor(customer)
    if (holder !== undefined || contact === 'new') return holder
    return contact.phone === null || numbersOf(customer).includes(contact.phone) ? contact : undefined
  }

  /** Two customers who turned out to be one have two contacts. The contract does not say which one a number stands for. */
  hasTwoContacts(phone: string): boolean {
    const customer = this.byPhone(phone)
    return customer !== undefined && this.living().filter((one) => one.customer === customer).length > 1
  }

  /** Oldest first. */
  private living(): Contact[] {
    return this.contacts.filter((one) => !one.isDeleted).toSorted((one, other) => one.id - other.id)
  }
}

/** The number of answers first. */
const numbersOf = ({ address, phone, dialled }: Customer): string[] =>
  [sameNumber(address), phone, dialled].filter((number) => number !== null)

const learns = ({ userId, awaitsUserId }: Customer): boolean => userId === null || awaitsUserId
