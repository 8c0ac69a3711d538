import { type Conversation as Seen, type Shop, same, Wrong } from '../shop.ts'
import type { Customer, Conversation as Modelled, Named, People } from './people-model.ts'
import { type Person, sameNumber } from './truth.ts'

export type State = { people: People; persons: Person[]; sent: Sent[] }
/** A template that went to a person's number. */
export type Sent = { wamid: string; name: string; phone: string; at: number }
/** Resolves to whether there was anything to do. */
export type Run = (state: State, shop: Shop) => Promise<boolean>

/**
 * The conversation in which an event or a send was recorded: one of the customer's, else a new one. Expects a contact for it.
 */
export async function meet(
  { people }: State,
  shop: Shop,
  customer: Customer,
  at: number,
  recorded: { text: string } | { chatId: number },
): Promise<Modelled> {
  const list = await shop.conversations()
  const isRecorded = ({ chatId, lastMessage }: Seen) =>
    'chatId' in recorded ? chatId === recorded.chatId : lastMessage?.text === recorded.text
  const seen = list.find((one) => one.sender.channelId === shop.numbers[at]!.channelId && isRecorded(one))
  if (seen === undefined)
    throw new Wrong(`No conversation of ${nameOf(at)} ends with the message of ${customer.person}`)
  const candidates = people.conversationsOf(customer, at)
  const found = candidates.find(({ chatId }) => chatId === seen.chatId)
  const other = people.conversations.find(({ chatId }) => chatId === seen.chatId)
  if (found === undefined && other !== undefined) {
    const owner =
      other.customer === null
        ? 'an erased person'
        : other.customer === customer
          ? `${nameOf(other.sender)}`
          : `another customer, ${other.customer.person}`
    throw new Wrong(`The message of ${customer.person} is in conversation ${seen.chatId}, which is of ${owner}`)
  }
  if (found === undefined && candidates.length > 0)
    throw new Wrong(
      `The message of ${customer.person} opened conversation ${seen.chatId} beside ${candidates[0]!.chatId}`,
    )
  expectContact(people, customer, seen)
  if (found !== undefined) return found
  const conversation: Modelled = { chatId: seen.chatId, sender: at, customer, unread: 0, texts: [], isReplaced: false }
  people.conversations.push(conversation)
  return conversation
}

/** Every customer who writes or is written to has a contact. */
export function expectContact(people: People, customer: Customer, seen: Seen | undefined): void {
  if (people.contactFor(customer) !== 'new' || seen === undefined) return
  people.contacts.push({
    id: seen.contact.id,
    phone: sameNumber(customer.address),
    email: null,
    customer,
    isDeleted: false,
  })
}

/** After each command: the same conversations, contacts and counts, and each conversation leads to its writer. */
export async function compare({ people }: State, shop: Shop): Promise<void> {
  const [list, contacts] = [await shop.conversations(), await shop.contacts()]
  same('The number of conversations', list.length, people.conversations.length)
  for (const { chatId, customer, unread, isReplaced } of people.conversations) {
    const seen = list.find((one) => one.chatId === chatId)
    if (seen === undefined) throw new Wrong(`Conversation ${chatId} is missing`)
    if (customer?.isAddressOpen && seen.contact.phone === null) customer.address = null
    if (customer !== null) customer.isAddressOpen = false
    const address = [seen.contact.phone, seen.contact.userId]
    if (isReplaced && address[0] === null) address[0] = customer?.address ?? null
    if (isReplaced && address[1] === null) address[1] = customer?.userId ?? null
    const expected =
      customer === null ? [null, null] : [customer.address, customer.awaitsUserId ? address[1] : customer.userId]
    same(
      `The phone number and user id of conversation ${chatId}${customer === null ? '' : ` with ${customer.person}`}`,
      address,
      expected,
    )
    same(`The unread messages of conversation ${chatId}`, seen.unreadMessages, unread)
    const attached = people.contacts.filter((one) => !one.isDeleted && customer !== null && one.customer === customer)
    // Two customers who turned out to be one have two contacts. The contract does not say which one stays attached.
    if (attached.length === 1) same(`The contact of conversation ${chatId}`, seen.contact.id, attached[0]?.id)
  }
  same('The number of contacts', contacts.length, people.contacts.filter((one) => !one.isDeleted).length)
  requireOneCustomerEach(people, list)
}

function requireOneCustomerEach(people: People, list: Seen[]): void {
  const owners = new Map<number, Customer>()
  for (const { chatId, customer } of people.conversations) {
    const id = list.find((one) => one.chatId === chatId)?.contact.id
    if (id === undefined || customer === null) continue
    const owner = owners.get(id) ?? customer
    if (owner !== customer) throw new Wrong(`Contact ${id} is shown for ${owner.person} and for ${customer.person}`)
    owners.set(id, owner)
  }
}

/** The item at a place, counted around. */
export const pick = <Item>(list: readonly Item[], place: number): Item | undefined =>
  list[place % Math.max(1, list.length)]

export const nameOf = (at: number): string => ['the first number', 'the second number'][at] ?? ''
export const shown = ({ phone, userId }: Named): string =>
  `shown as ${[phone, userId].filter((one) => one !== null).join(' and ')}`
