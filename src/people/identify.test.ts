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
import { identify, identifyGroup } from './identify.ts'
import { createPeople, customerOf } from './people.ts'

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
