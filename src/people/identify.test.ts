import { describe, expect, test } from 'vitest'
import { identify, identifyGroup, learnAnswer, learnRecipient } from './identify.ts'
import { changeNumber, changeUserId, type NumberChange, type UserIdChange } from './identity-change.ts'
import { type Customer, createPeople, customerOf, type People } from './people.ts'

const [P1, P2, P3] = ['393331110001', '393331110002', '393331110003']
const [U1, U2, U3] = ['IT.1', 'IT.2', 'IT.3']
const [ACCOUNT, OTHER_ACCOUNT] = ['WABA1', 'WABA2']
const SECOND = 1_000
const NOON = Date.parse('2026-11-23T12:00:00Z')

type Names = { phone?: string; userId?: string; account?: string; at?: number }

/** People of one company, without customers, with conversations of senders 1 and 2 of one account. */
function createWorld() {
  const people = createPeople([P1, P2, P3])
  let conversations = 100
  const receive = ({ phone, userId, account = ACCOUNT, at = 0 }: Names) => {
    const customer = identify(people, {
      ...{ phone: phone ?? null, userId: userId ?? null, account, at: NOON + at * SECOND },
    })
    if (customer === undefined) throw new Error('An event names a customer')
    return customer
  }
  const converse = (customer: Customer, senderId = 1, account = ACCOUNT) => {
    conversations += 1
    const conversation = {
      ...{
        id: conversations,
        senderId,
        account,
        customerId: customer.id,
        userId: null,
        messageCount: 0,
        isClosed: false,
      },
    }
    customer.conversations.push(conversation)
    return conversation
  }
  const report = (change: Partial<NumberChange> & { at?: number }) =>
    changeNumber(people, {
      ...{ from: P1, to: P2, previousUserIds: [], userId: null, account: ACCOUNT, ...change },
      at: NOON + (change.at ?? 0) * SECOND,
    })
  const renameUser = (change: Partial<UserIdChange> & { at?: number }) =>
    changeUserId(people, {
      ...{ phone: null, previousUserIds: [U1], userId: U2, isMessage: true, account: ACCOUNT, ...change },
      at: NOON + (change.at ?? 0) * SECOND,
    })
  return { people, receive, converse, report, renameUser, of: (identity: string) => customerOf(people, identity) }
}

const contactOf = (people: People, { contactId }: Customer) => people.contacts.get(contactId)
const addressOf = ({ phone, identities }: Customer) => ({
  phone,
  userIds: [...identities].flatMap(([identity, { retiredAt }]) =>
    retiredAt === null && /^[A-Z]/.test(identity) ? [identity] : [],
  ),
})

describe('the customer of an event', () => {
  test('is the one that its phone number leads to, in each way to write it', () => {
    const { receive } = createWorld()
    const customer = receive({ phone: '5511987654321' })
    expect(receive({ phone: '551187654321' })).toBe(customer)
    expect(customer.phone).toBe('5511987654321')
  })

  test('is the one that its user id leads to, and keeps the number', () => {
    const { receive } = createWorld()
    const customer = receive({ phone: P1, userId: U1 })
    expect(receive({ userId: U1 })).toBe(customer)
    expect(addressOf(customer)).toEqual({ phone: P1, userIds: [U1] })
  })

  test('is a new one with a new contact when the identities are unknown', () => {
    const { people, receive } = createWorld()
    const [shown, hidden] = [receive({ phone: P1 }), receive({ userId: U2 })]
    expect(shown).not.toBe(hidden)
    expect([contactOf(people, shown)?.phone, contactOf(people, hidden)?.phone]).toEqual([P1, null])
  })

  test('is attached to the oldest contact with the number', () => {
    const { people, receive } = createWorld()
    people.contacts.set(7, { id: 7, phone: P1, phoneIdentity: P1, isLiving: true, firstName: null })
    people.holders.set(P1, 7)
    expect(receive({ phone: P1 }).contactId).toBe(7)
  })

  test('is the group in a group', () => {
    const { people } = createWorld()
    const group = identifyGroup(people, 'G1', NOON)
    expect(identifyGroup(people, 'G1', NOON)).toBe(group)
    expect(contactOf(people, group)?.firstName).toBe('G1')
    expect(customerOf(people, 'G1')).toBeUndefined()
  })
})

describe('a number and a user id in one event', () => {
  test('are one person’s when only one of them is known', () => {
    const { people, receive } = createWorld()
    const existing = receive({ phone: P1 })
    expect(receive({ phone: P1, userId: U1 })).toBe(existing)
    const hidden = receive({ userId: U2 })
    expect(receive({ phone: P2, userId: U2 })).toBe(hidden)
    expect([addressOf(existing), addressOf(hidden)]).toEqual([
      { phone: P1, userIds: [U1] },
      { phone: P2, userIds: [U2] },
    ])
    expect(contactOf(people, hidden)?.phone).toBe(P2)
  })

  test('are one person’s when both are known and the number has no user id: conversations of both stay', () => {
    const { receive, converse } = createWorld()
    const [shown, hidden] = [receive({ phone: P1 }), receive({ userId: U1 })]
    const [own, closed, moved] = [converse(shown, 1), converse(hidden, 1), converse(hidden, 2)]
    expect(receive({ phone: P1, userId: U1 })).toBe(shown)
    expect([own.isClosed, closed.isClosed, moved.isClosed]).toEqual([false, true, false])
    expect(moved.customerId).toBe(shown.id)
    expect([own.userId, closed.userId, moved.userId]).toEqual([U1, null, U1])
    expect(addressOf(hidden)).toEqual({ phone: null, userIds: [] })
  })

  test('keep the contact of the user when that of the number was deleted', () => {
    const { people, receive } = createWorld()
    const [shown, hidden] = [receive({ phone: P1 }), receive({ userId: U1 })]
    people.contacts.set(shown.contactId, { ...contactOf(people, shown)!, isLiving: false })
    people.holders.delete(P1)
    receive({ phone: P1, userId: U1 })
    expect(shown.contactId).toBe(hidden.contactId)
    expect(contactOf(people, shown)?.phone).toBe(P1)
  })

  test('leave a number behind that the user had before', () => {
    const { receive, of } = createWorld()
    const [shown, user] = [receive({ phone: P1 }), receive({ phone: P2, userId: U2 })]
    expect(receive({ phone: P1, userId: U2, at: 1 })).toBe(shown)
    expect([of(P2), shown.phone, user.phone]).toEqual([undefined, P1, null])
  })

  test('attach a customer who was known by user id alone to the contact with the number', () => {
    const { people, receive } = createWorld()
    const hidden = receive({ userId: U1 })
    people.contacts.set(7, { id: 7, phone: P1, phoneIdentity: P1, isLiving: true, firstName: null })
    people.holders.set(P1, 7)
    receive({ phone: P1, userId: U1 })
    expect(hidden.contactId).toBe(7)
  })

  test('move a customer who writes from another number without a report, and the contact along', () => {
    const { people, receive, of } = createWorld()
    const customer = receive({ phone: P1, userId: U1 })
    expect(receive({ phone: P2, userId: U1, at: 1 })).toBe(customer)
    expect([customer.phone, contactOf(people, customer)?.phone, of(P1)]).toEqual([P2, P2, undefined])
  })

  test('keep the number that others wrote to the contact', () => {
    const { people, receive } = createWorld()
    const customer = receive({ phone: P1, userId: U1 })
    Object.assign(contactOf(people, customer)!, { phone: P3, phoneIdentity: P3 })
    receive({ phone: P2, userId: U1, at: 1 })
    expect([customer.phone, contactOf(people, customer)?.phone]).toEqual([P2, P3])
  })
})

describe('a recycled number', () => {
  test('goes to a new customer and contact: the former one keeps conversation and user id', () => {
    const { people, receive, converse } = createWorld()
    const former = receive({ phone: P1, userId: U1 })
    const conversation = converse(former)
    const next = receive({ phone: P1, userId: U2, at: 1 })
    expect(next).not.toBe(former)
    expect([addressOf(former), addressOf(next)]).toEqual([
      { phone: null, userIds: [U1] },
      { phone: P1, userIds: [U2] },
    ])
    expect([contactOf(people, former)?.phone, contactOf(people, next)?.phone]).toEqual([null, P1])
    expect(conversation.customerId).toBe(former.id)
    expect([receive({ phone: P1, at: 2 }), receive({ userId: U1, at: 2 })]).toEqual([next, former])
  })

  test('goes to the customer who is known by the user id', () => {
    const { receive } = createWorld()
    const [former, next] = [receive({ phone: P1, userId: U1 }), receive({ phone: P2, userId: U2 })]
    expect(receive({ phone: P1, userId: U2, at: 1 })).toBe(next)
    expect([former.phone, next.phone]).toEqual([null, P1])
  })

  test('is not derived from user ids of different accounts', () => {
    const { receive } = createWorld()
    const customer = receive({ phone: P1, userId: U1 })
    expect(receive({ phone: P1, userId: U2, account: OTHER_ACCOUNT })).toBe(customer)
    expect(receive({ phone: P1, userId: U3, account: OTHER_ACCOUNT, at: 1 })).not.toBe(customer)
  })

  test('does not come back with an older message of the former owner', () => {
    const { receive } = createWorld()
    const former = receive({ phone: P1, userId: U1 })
    const next = receive({ phone: P1, userId: U2, at: 60 })
    expect(receive({ phone: P1, userId: U1, at: 30 })).toBe(former)
    expect([former.phone, next.phone]).toEqual([null, P1])
  })

  test('an older message of an unknown person with the number makes a customer without it', () => {
    const { receive } = createWorld()
    const owner = receive({ phone: P1, userId: U1, at: 60 })
    const late = receive({ phone: P1, userId: U2 })
    expect([late.phone, owner.phone]).toEqual([null, P1])
  })

  test('needs the locks of the numbers that it takes away', () => {
    const people = createPeople([P1, U1, U2])
    const named = { account: ACCOUNT, at: NOON }
    identify(people, { ...named, phone: P3, userId: U1 })
    identify(people, { ...named, phone: P1, userId: U1 })
    expect([...people.unlocked]).toEqual([P3])
  })
})

describe('a reported number change', () => {
  test('keeps customer, conversation and contact; the old number leads to no one', () => {
    const { people, receive, report, converse, of } = createWorld()
    const customer = receive({ phone: P1, userId: U1 })
    const conversation = converse(customer)
    report({ previousUserIds: [U1], userId: U2, at: 1 })
    expect(addressOf(customer)).toEqual({ phone: P2, userIds: [U2] })
    expect([of(P1), of(P2), of(U1), of(U2)]).toEqual([undefined, customer, customer, customer])
    expect([contactOf(people, customer)?.phone, conversation.userId]).toEqual([P2, U2])
    expect(receive({ phone: P1, at: 2 })).not.toBe(customer)
  })

  test('that names no ids lets the first message from the new number bring the user id', () => {
    const { receive, report } = createWorld()
    const customer = receive({ phone: P1, userId: U1 })
    report({ at: 1 })
    expect(receive({ phone: P2, userId: U2, at: 2 })).toBe(customer)
    expect(addressOf(customer)).toEqual({ phone: P2, userIds: [U2] })
    expect(receive({ phone: P2, userId: U3, at: 3 })).not.toBe(customer)
  })

  test('that comes after the first message from the new number joins both', () => {
    const { receive, report, converse } = createWorld()
    const customer = receive({ phone: P1, userId: U1 })
    const early = receive({ phone: P2, userId: U2, at: 2 })
    const [old, next] = [converse(customer), converse(early)]
    report({ previousUserIds: [U1], userId: U2, at: 1 })
    expect(receive({ userId: U1, at: 3 })).toBe(early)
    expect([old.isClosed, next.isClosed]).toEqual([true, false])
    expect(addressOf(early)).toEqual({ phone: P2, userIds: [U2] })
  })

  test('takes the new number from another person who was reported with it before', () => {
    const { receive, report } = createWorld()
    const [customer, holder] = [receive({ phone: P1, userId: U1 }), receive({ phone: P2, userId: U3 })]
    report({ previousUserIds: [U1], userId: U2, at: 1 })
    expect([addressOf(customer), addressOf(holder)]).toEqual([
      { phone: P2, userIds: [U2] },
      { phone: null, userIds: [U3] },
    ])
  })

  test('takes the new number from another person who came to it by a report and has not shown a user id yet', () => {
    const { receive, report } = createWorld()
    const [one, other] = [receive({ phone: P1, userId: U1 }), receive({ phone: P3, userId: U3 })]
    report({ from: P1, to: P2, at: 1 })
    report({ from: P3, to: P2, at: 2 })
    expect([one.phone, other.phone]).toEqual([null, P2])
  })

  test('leaves the new number with another person who was reported with it since', () => {
    const { receive, report } = createWorld()
    const [customer, holder] = [receive({ phone: P1, userId: U1 }), receive({ phone: P2, userId: U3, at: 9 })]
    report({ previousUserIds: [U1], userId: U2, at: 1 })
    expect([addressOf(customer), addressOf(holder)]).toEqual([
      { phone: null, userIds: [U2] },
      { phone: P2, userIds: [U3] },
    ])
  })

  test('to a number that is known by itself closes the old conversation, and the identities join', () => {
    const { receive, report, converse } = createWorld()
    const [customer, next] = [receive({ phone: P1, userId: U1 }), receive({ phone: P2 })]
    const [old, current] = [converse(customer), converse(next)]
    report({ at: 1 })
    expect([old.isClosed, current.isClosed]).toEqual([true, false])
    expect([...next.identities.keys()].toSorted()).toEqual([P1, P2, U1].toSorted())
  })

  test('lets the contact give way to the contact that has the new number', () => {
    const { people, receive, report } = createWorld()
    people.contacts.set(7, { id: 7, phone: P2, phoneIdentity: P2, isLiving: true, firstName: null })
    people.holders.set(P2, 7)
    const customer = receive({ phone: P1, userId: U1 })
    const former = contactOf(people, customer)
    report({ at: 1 })
    expect([customer.contactId, former?.phone]).toEqual([7, null])
  })

  test('of a contact who never wrote carries the contact along', () => {
    const { people, report, of } = createWorld()
    people.contacts.set(7, { id: 7, phone: P1, phoneIdentity: P1, isLiving: true, firstName: null })
    people.holders.set(P1, 7)
    report({})
    expect([of(P2)?.contactId, people.contacts.get(7)?.phone, of(P1)]).toEqual([7, P2, undefined])
    expect(of(P2)?.identities.get(P1)?.retiredAt).toBe(NOON)
  })

  test('changes nothing when another number of the company reports it as well', () => {
    const { receive, report } = createWorld()
    const customer = receive({ phone: P1, userId: U1 })
    report({ at: 1 })
    receive({ phone: P2, userId: U2, at: 2 })
    report({ at: 2 })
    report({ previousUserIds: [U1], at: 3 })
    expect(addressOf(customer)).toEqual({ phone: P2, userIds: [U2] })
  })

  test('that is older than the report of the old number as another person’s changes nothing', () => {
    const { receive, report } = createWorld()
    const customer = receive({ phone: P1, userId: U1, at: 60 })
    report({ at: 30 })
    expect(customer.phone).toBe(P1)
  })

  test('of a customer who hides the number is found by the former user id', () => {
    const { receive, report } = createWorld()
    const customer = receive({ userId: U1 })
    report({ from: null, previousUserIds: [U1], userId: U2, at: 1 })
    expect(addressOf(customer)).toEqual({ phone: P2, userIds: [U2] })
  })

  test('leaves a late message of the old number with the customer', () => {
    const { receive, report } = createWorld()
    const customer = receive({ phone: P1, userId: U1 })
    report({ at: 60 })
    expect(receive({ phone: P1, userId: U1, at: 30 })).toBe(customer)
    expect(customer.phone).toBe(P2)
  })

  test('is not undone by an event that was repeated in the same second', () => {
    const { receive, report } = createWorld()
    const customer = receive({ phone: P1, userId: U1 })
    report({ previousUserIds: [U1], userId: U2 })
    expect(receive({ phone: P1, userId: U1 })).toBe(customer)
    expect(addressOf(customer)).toEqual({ phone: P2, userIds: [U2] })
  })

  test('ends all ways to write the old number', () => {
    const { people, receive, report, of } = createWorld()
    const customer = receive({ phone: P1 })
    learnRecipient(people, { phone: P3, userId: null, account: ACCOUNT, at: NOON, requestedIdentity: P1 })
    expect(of(P3)).toBe(customer)
    report({ at: 1 })
    expect([of(P1), of(P3), of(P2)]).toEqual([undefined, undefined, customer])
  })
})

describe('a reported change of the user id', () => {
  test('makes the new one the address, in the conversations of the account alone; the former one still leads there', () => {
    const { receive, renameUser, converse, of } = createWorld()
    const customer = receive({ userId: U1 })
    receive({ userId: U3, account: OTHER_ACCOUNT })
    const conversation = converse(customer)
    renameUser({ at: 1 })
    expect([conversation.userId, of(U1), of(U2)]).toEqual([U2, customer, customer])
    expect(addressOf(customer)).toEqual({ phone: null, userIds: [U2] })
  })

  test('joins the customer that the new one has opened already', () => {
    const { receive, renameUser, converse } = createWorld()
    const [former, early] = [receive({ phone: P1, userId: U1 }), receive({ userId: U2, at: 2 })]
    const [open, closed] = [converse(former), converse(early)]
    renameUser({ at: 1 })
    expect([open.isClosed, closed.isClosed, open.userId]).toEqual([false, true, U2])
    expect(receive({ userId: U2, at: 3 })).toBe(former)
    expect(former.phone).toBe(P1)
  })

  test('without the former one belongs to the number that is shown', () => {
    const { receive, renameUser } = createWorld()
    const customer = receive({ phone: P1 })
    renameUser({ phone: P1, previousUserIds: [] })
    expect(addressOf(customer)).toEqual({ phone: P1, userIds: [U2] })
  })

  test('changes nothing when it comes again after a later one', () => {
    const { receive, renameUser } = createWorld()
    const customer = receive({ userId: U1 })
    renameUser({ at: 1 })
    renameUser({ previousUserIds: [U2], userId: U3, at: 2 })
    renameUser({ at: 1 })
    expect(addressOf(customer).userIds).toEqual([U3])
  })

  test('of an unknown customer makes one only if it is a message', () => {
    const { renameUser, of } = createWorld()
    renameUser({ isMessage: false })
    expect(of(U2)).toBeUndefined()
    renameUser({})
    expect([of(U1), of(U2)?.phone]).toEqual([of(U2), null])
  })
})

describe('the recipient that a status names', () => {
  const at = { account: ACCOUNT, at: NOON }

  test('gets the user id, found by number or by the message', () => {
    const { people, receive } = createWorld()
    const [byPhone, byMessage] = [receive({ phone: P1 }), receive({ phone: P2 })]
    learnRecipient(people, { ...at, phone: P1, userId: U1, requestedIdentity: null })
    learnRecipient(people, { ...at, phone: P3, userId: U2, requestedIdentity: P2 })
    expect([receive({ userId: U1 }), receive({ userId: U2 }), receive({ phone: P3 })]).toEqual([
      byPhone,
      byMessage,
      byMessage,
    ])
    expect(byMessage.phone).toBe(P2)
  })

  test('never loses a number or gets a second user id by it', () => {
    const { people, receive, of } = createWorld()
    const customer = receive({ phone: P1, userId: U1 })
    learnRecipient(people, { ...at, phone: P1, userId: U2, requestedIdentity: P1 })
    expect([addressOf(customer), of(U2)]).toEqual([{ phone: P1, userIds: [U1] }, undefined])
  })

  test('does not get a number back that has moved on', () => {
    const { people, receive, report, of } = createWorld()
    const customer = receive({ phone: P1 })
    report({ at: 1 })
    learnRecipient(people, { ...at, phone: P1, userId: U1, requestedIdentity: P2 })
    expect([of(P1), customer.phone, of(U1)]).toEqual([undefined, P2, customer])
  })
})

describe('the recipient that the answer to a send names', () => {
  const at = { account: ACCOUNT, at: NOON }

  test('gets the user id and the number under which the provider knows it', () => {
    const { people, receive } = createWorld()
    const customer = receive({ phone: P1 })
    learnAnswer(people, { ...at, phone: P3, userId: U1, requestedIdentity: P1 })
    expect([receive({ phone: P3 }), receive({ userId: U1 }), customer.phone]).toEqual([customer, customer, P1])
  })

  test('is the customer that the reported number leads to, from then on also under the requested number', () => {
    const { people, receive, of } = createWorld()
    const [requested, existing] = [receive({ phone: P1 }), receive({ phone: P2 })]
    learnAnswer(people, { ...at, phone: P2, userId: null, requestedIdentity: P1 })
    expect([of(P1), of(P2), existing.phone, requested.phone]).toEqual([existing, existing, P2, null])
  })

  test('stays apart from another person’s number and user id', () => {
    const { people, receive, of } = createWorld()
    const [requested, other] = [receive({ phone: P1, userId: U1 }), receive({ phone: P2, userId: U2 })]
    learnAnswer(people, { ...at, phone: null, userId: U2, requestedIdentity: P1 })
    learnAnswer(people, { ...at, phone: P2, userId: null, requestedIdentity: P1 })
    expect([of(P1), of(P2)]).toEqual([requested, other])
  })
})
