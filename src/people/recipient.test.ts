import { describe, expect, test } from 'vitest'
import { ACCOUNT, addressOf, createWorld, NOON, P1, P2, P3, U1, U2 } from '../../test/people/memory-people.ts'
import { learnAnswer, learnRecipient } from './identify.ts'

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
