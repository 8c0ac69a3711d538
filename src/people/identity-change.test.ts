import { describe, expect, test } from 'vitest'
import {
  ACCOUNT,
  addressOf,
  contactOf,
  createWorld,
  NOON,
  OTHER_ACCOUNT,
  P1,
  P2,
  P3,
  U1,
  U2,
  U3,
} from '../../test/people/memory-people.ts'
import { learnRecipient } from './identify.ts'

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
