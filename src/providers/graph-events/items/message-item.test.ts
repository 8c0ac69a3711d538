import { describe, expect, it } from 'vitest'
import { itemsOf } from '../../../../test/provider-items.ts'
import type { ChangeItem, InboundItem, MessageItem, ReactionItem } from '../../events/event-item.ts'

type Json = Record<string, unknown>
const IDA = { wa_id: '4915100000001', user_id: 'DE.1234abcd', profile: { name: 'Ida' } }
const METADATA = { display_phone_number: '+49 30 1234567', phone_number_id: '555' }

const read = (value: Json, field: string | undefined = 'messages'): InboundItem[] =>
  itemsOf({ entry: [{ id: '901', changes: [{ field, value }] }] })

const readOne = (message: Json, value: Json = {}): MessageItem | ChangeItem | ReactionItem => {
  const base = { from: '4915100000001', id: 'wamid.1', timestamp: '1760000000' }
  const items = read({ metadata: METADATA, contacts: [IDA], messages: [{ ...base, ...message }], ...value })
  return items.findLast((item) => item.kind === 'message' || item.kind === 'change' || item.kind === 'reaction')!
}

describe('when a message was sent', () => {
  it.each([
    ['1760000000', 1760000000],
    [1760000000, 1760000000],
    [1760000000123, 1760000000],
    ['1760000000123', 1760000000],
    ['<timestamp>', null],
    ['', null],
    [null, null],
    [true, null],
    [-5, null],
    [1e300, null],
  ])('%j is %j', (timestamp, seconds) => {
    expect(readOne({ type: 'text', timestamp }).timestamp).toBe(seconds)
  })
})

describe('the writer', () => {
  const customerOf = (message: Json, contacts: unknown) => readOne({ type: 'text', ...message }, { contacts }).customer

  it.each<[string, Json, unknown, Json]>([
    [
      'his contact, in any order',
      {},
      [{ wa_id: '999', profile: { name: 'Bo' } }, IDA],
      { phone: '4915100000001', userId: 'DE.1234abcd', profileName: 'Ida' },
    ],
    [
      'his contact by user id',
      { from: '', from_user_id: 'DE.1234abcd' },
      [{ wa_id: '999' }, { user_id: 'DE.1234abcd', profile: { username: 'ida' } }],
      { phone: null, userId: 'DE.1234abcd', profileName: 'ida' },
    ],
    [
      'the only contact, with another phone: its name alone',
      { from: '15550001' },
      [IDA],
      { phone: '15550001', userId: null, profileName: 'Ida' },
    ],
    [
      'the only contact, without a phone: its name alone',
      {},
      [{ user_id: 'DE.1234abcd', profile: { name: 'Ida' } }],
      { phone: '4915100000001', userId: null, profileName: 'Ida' },
    ],
    [
      'the only contact, with another user id: its name alone',
      { from: '', from_user_id: 'DE.other' },
      [IDA],
      { phone: null, userId: 'DE.other', profileName: 'Ida' },
    ],
    [
      'a contact with the number in another way of writing',
      { from: '5511987654321' },
      [{ ...IDA, wa_id: '551187654321' }],
      { phone: '5511987654321', userId: 'DE.1234abcd' },
    ],
    [
      'another user id than the contact with the phone: the message decides',
      { from_user_id: 'DE.other' },
      [IDA],
      { phone: '4915100000001', userId: 'DE.other' },
    ],
    ['the only contact, where from is absent', { from: undefined }, [IDA], { phone: '4915100000001' }],
    ['no contact at all', {}, undefined, { phone: '4915100000001', userId: null, profileName: null }],
    [
      'none of several others',
      {},
      [{ wa_id: '1' }, { wa_id: '2' }],
      { phone: '4915100000001', userId: null, profileName: null },
    ],
    ['a user id in the place of a phone, and no contact', { from: 'US.1234' }, [], { phone: null, userId: 'US.1234' }],
    [
      'a user id in the place of a phone',
      { from: 'US.1234' },
      [{ wa_id: 'US.1234', profile: { name: 'Al' } }],
      { phone: null, userId: 'US.1234', profileName: 'Al' },
    ],
    ['a number as a number', { from: 4915100000001 }, [], { phone: '4915100000001' }],
    ['a formatted number', { from: '+49 151 00000001' }, [IDA], { phone: '4915100000001', profileName: 'Ida' }],
    ['a placeholder', { from: 'PHONE_1' }, [], { phone: null, userId: null }],
    ['contacts of another kind', {}, 'x', { phone: '4915100000001', profileName: null }],
  ])('%s', (_name, message, contacts, customer) => {
    expect(customerOf(message, contacts)).toMatchObject(customer)
  })

  it("is never given the name of the batch's other writer", () => {
    const messages = [
      { from: '4915100000001', id: 'wamid.1', type: 'text' },
      { from: '15550001', id: 'wamid.2', type: 'text' },
    ]
    const items = read({ metadata: METADATA, contacts: [IDA], messages }).filter((item) => item.kind === 'message')
    expect(items.map((item) => item.customer.profileName)).toEqual(['Ida', null])
    expect(JSON.parse(items[1]!.raw()).entry[0].changes[0].value.contacts).toEqual([])
  })
})

describe('the effect of a message', () => {
  it.each<[string, Json, boolean, boolean]>([
    ['a text', { type: 'text' }, true, true],
    ['an unsupported kind', { type: 'unsupported' }, true, true],
    ['a system notice', { type: 'system' }, false, false],
    ['a request for a welcome', { type: 'request_welcome' }, false, false],
    ['a message without id', { type: 'text', id: undefined }, true, true],
    ['a message in a group', { type: 'text', group_id: 'G1' }, false, true],
    ['a reaction', { type: 'reaction', reaction: { message_id: 'wamid.0', emoji: 'x' } }, true, true],
  ])('%s: opens the window and is forwarded, or not', (_name, message, opensWindow, isForwarded) => {
    expect(readOne(message)).toMatchObject({ opensWindow, isForwarded })
  })

  it('a reaction sets or clears, and may lack its target', () => {
    const reactionOf = (reaction: Json) => readOne({ type: 'reaction', reaction })
    expect(reactionOf({ message_id: 'wamid.0', emoji: '👍' })).toMatchObject({
      kind: 'reaction',
      targetWamid: 'wamid.0',
      emoji: '👍',
    })
    expect(reactionOf({ message_id: 'wamid.0', emoji: '' })).toMatchObject({ targetWamid: 'wamid.0', emoji: null })
    expect(reactionOf({ message_id: 'wamid.0' })).toMatchObject({ emoji: null })
    expect(reactionOf({ emoji: '👍' })).toMatchObject({ targetWamid: null })
  })
})

describe('an echo', () => {
  const echo = { from: '49301234567', to: '4915100000001', id: 'wamid.1', timestamp: '1760000000' }
  const readEchoes = (...message_echoes: Json[]) => read({ metadata: METADATA, message_echoes }, 'smb_message_echoes')

  it('is of the customer written to, forwarded, and opens no window', () => {
    expect(readEchoes({ ...echo, type: 'text', text: { body: 'Hi' } })).toMatchObject([
      {
        kind: 'message',
        isEcho: true,
        opensWindow: false,
        isForwarded: true,
        text: 'Hi',
        customer: { phone: '4915100000001' },
        businessPhone: '49301234567',
      },
    ])
  })

  it('may be a reaction, and may name the customer by user id alone', () => {
    const reaction = { message_id: 'wamid.0', emoji: '👍' }
    expect(readEchoes({ ...echo, to: '', to_user_id: 'DE.1234abcd', type: 'reaction', reaction })).toMatchObject([
      { kind: 'reaction', isEcho: true, opensWindow: false, customer: { phone: null, userId: 'DE.1234abcd' } },
    ])
  })
})

describe('a system message that reports a new identity', () => {
  const system = (content: Json, message: Json = {}) =>
    read({
      metadata: METADATA,
      messages: [{ from: '111', id: 'wamid.1', type: 'system', system: content, ...message }],
    })

  it.each(['wa_id', 'new_wa_id'])('number: by %s, ahead of the message itself', (name) => {
    expect(system({ type: 'user_changed_number', [name]: '222', body: 'changed' })).toMatchObject([
      {
        kind: 'number-changed',
        key: '0.0.messages.0.change',
        from: '111',
        to: '222',
        previousUserIds: [],
        userId: null,
      },
      { kind: 'message', key: '0.0.messages.0', recordText: 'changed', customer: { phone: '222', userId: null } },
    ])
  })

  it('user id: with the one before, where it is reported', () => {
    const change = { type: 'user_changed_user_id', user_id: 'DE.2', previous_user_id: 'DE.1' }
    expect(system(change)[0]).toMatchObject({
      ...{ kind: 'user-id-changed', wamid: 'wamid.1', previousUserIds: ['DE.1'], userId: 'DE.2' },
    })
    expect(system({ ...change, previous_user_id: undefined })[0]).toMatchObject({ previousUserIds: [] })
    const before = system({ ...change, previous_user_id: undefined }, { from_user_id: 'DE.1' })[0]
    expect(before).toMatchObject({ previousUserIds: ['DE.1'], userId: 'DE.2' })
    const already = system({ ...change, previous_user_id: undefined }, { from_user_id: 'DE.2' })[0]
    expect(already).toMatchObject({ previousUserIds: [], userId: 'DE.2' })
  })

  it('number: with the user ids before and after, of which the message has the new one', () => {
    const ids = { user_id: 'DE.2', previous_user_id: 'DE.1', previous_parent_user_id: 'DE.ENT.1' }
    expect(system({ type: 'user_changed_number', wa_id: '222', ...ids })).toMatchObject([
      { kind: 'number-changed', from: '111', to: '222', previousUserIds: ['DE.1', 'DE.ENT.1'], userId: 'DE.2' },
      { kind: 'message', customer: { phone: '222', userId: 'DE.2' } },
    ])
  })

  it('of a customer who hides the number: by the user ids alone', () => {
    const ids = { type: 'user_changed_number', user_id: 'DE.2', previous_user_id: 'DE.1' }
    expect(system({ ...ids, wa_id: '222' }, { from: undefined })[0]).toMatchObject({
      kind: 'number-changed',
      from: null,
    })
    expect(system(ids, { from: undefined })).toMatchObject([
      { kind: 'user-id-changed', customer: { phone: null }, previousUserIds: ['DE.1'], userId: 'DE.2' },
      { kind: 'message', customer: { phone: null, userId: 'DE.2' } },
    ])
  })

  it('user id: with the number that is shown', () => {
    const change = { type: 'user_changed_user_id', user_id: 'DE.2', wa_id: '222' }
    expect(system(change, { from: undefined })[0]).toMatchObject({ customer: { phone: '222' }, userId: 'DE.2' })
  })

  it('is the message alone where the identities are not both there', () => {
    expect(system({ type: 'user_changed_number', wa_id: '' })).toHaveLength(1)
    expect(system({ type: 'customer_identity_changed' })).toHaveLength(1)
    expect(system({ type: 'user_changed_number', wa_id: '222' }, { from: undefined })).toHaveLength(1)
  })
})
