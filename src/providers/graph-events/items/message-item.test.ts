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

describe('the content of a message, for receivers and in the conversation', () => {
  // provider's content → envelope type, envelope text, record type, record text
  it.each<[string, Json, [string, string, string, string]]>([
    ['text', { type: 'text', text: { body: 'Guten Tag' } }, ['text', 'Guten Tag', 'text', 'Guten Tag']],
    ['text without body', { type: 'text' }, ['text', '[text]', 'text', '[text]']],
    ['image', { type: 'image', image: { id: '7' } }, ['image', '[image]', 'image', '[image]']],
    ['captioned image', { type: 'image', image: { caption: 'cat' } }, ['image', 'cat', 'image', 'cat']],
    ['video', { type: 'video', video: { caption: '' } }, ['video', '[video]', 'video', '[video]']],
    ['audio', { type: 'audio', audio: { id: '7' } }, ['audio', '[audio]', 'audio', '[audio]']],
    ['voice of old', { type: 'voice', voice: { id: '7' } }, ['audio', '[audio]', 'audio', '[audio]']],
    ['document', { type: 'document', document: { caption: 'bill' } }, ['document', 'bill', 'document', 'bill']],
    ['sticker', { type: 'sticker', sticker: { id: '7' } }, ['image', '[sticker]', 'image', '[sticker]']],
    ['failed media', { type: 'image', errors: [{ code: 131052 }] }, ['image', '[image]', 'image', '[image]']],
    ['place', { type: 'location', location: { latitude: 1 } }, ['location', '[location]', 'text', '[location]']],
    ['named place', { type: 'location', location: { name: 'Pier' } }, ['location', '[location]', 'text', 'Pier']],
    ['contacts', { type: 'contacts', contacts: [{}] }, ['contacts', '[contacts]', 'text', '[contacts]']],
    ['button', { type: 'button', button: { text: 'Yes', payload: 'y' } }, ['button', 'Yes', 'text', 'Yes']],
    [
      'button reply',
      { type: 'interactive', interactive: { type: 'button_reply', button_reply: { id: '1', title: 'Blue' } } },
      ['interactive', 'Blue', 'text', 'Blue'],
    ],
    [
      'list reply',
      { type: 'interactive', interactive: { type: 'list_reply', list_reply: { title: 'Tea' } } },
      ['interactive', 'Tea', 'text', 'Tea'],
    ],
    [
      'flow',
      { type: 'interactive', interactive: { type: 'nfm_reply', nfm_reply: { body: 'Done', response_json: null } } },
      ['interactive', 'Done', 'text', 'Done'],
    ],
    [
      'call permission',
      { type: 'interactive', interactive: { type: 'call_permission_reply' } },
      ['interactive', '[call_permission_reply]', 'text', '[call_permission_reply]'],
    ],
    [
      'payment method',
      { type: 'interactive', interactive: { type: 'payment_method', payment_method: { payment_method: 'upi' } } },
      ['interactive', '[payment_method]', 'text', '[payment_method]'],
    ],
    ['interactive without body', { type: 'interactive' }, ['interactive', '[interactive]', 'text', '[interactive]']],
    ['order', { type: 'order', order: { text: '' } }, ['order', '[order]', 'text', '[order]']],
    ['order with text', { type: 'order', order: { text: 'quick!' } }, ['order', '[order]', 'text', 'quick!']],
    ['system', { type: 'system', system: { body: 'Ida changed' } }, ['system', '[system]', 'text', 'Ida changed']],
    [
      'unsupported',
      { type: 'unsupported', errors: [{ code: 131051 }] },
      ['unsupported', '[unsupported]', 'text', '[unsupported]'],
    ],
    [
      'unsupported, with its kind',
      { type: 'unsupported', unsupported: { type: 'poll' }, errors: [{ code: 131051 }] },
      ['unsupported', '[unsupported: poll]', 'text', '[unsupported: poll]'],
    ],
    ['welcome', { type: 'request_welcome' }, ['request_welcome', '[request_welcome]', 'text', '[request_welcome]']],
    ['a kind of tomorrow', { type: 'hologram', hologram: {} }, ['hologram', '[hologram]', 'text', '[hologram]']],
    ['no type but text', { text: { body: 'poor' } }, ['text', 'poor', 'text', 'poor']],
    ['nothing', {}, ['unknown', '[unknown]', 'text', '[unknown]']],
    ['a hostile type', { type: '__proto__' }, ['__proto__', '[__proto__]', 'text', '[__proto__]']],
    ['a body of another kind', { type: 'text', text: ['x'] }, ['text', '[text]', 'text', '[text]']],
  ])('%s', (_name, message, [type, text, recordType, recordText]) => {
    expect(readOne(message)).toMatchObject({ kind: 'message', type, text, recordType, recordText })
  })

  it('describes media, a voice note being one by its mark or its type', () => {
    const audio = { id: 12345678901, mime_type: 'audio/ogg', voice: true, url: 'https://x/1' }
    expect(readOne({ type: 'audio', audio })).toMatchObject({
      media: {
        kind: 'audio',
        mimeType: 'audio/ogg',
        filename: null,
        caption: null,
        voice: true,
        providerMediaId: '12345678901',
        url: 'https://x/1',
      },
    })
    expect(readOne({ type: 'voice', voice: {} })).toMatchObject({ media: { kind: 'audio', voice: true } })
    expect(readOne({ type: 'sticker', sticker: {} })).toMatchObject({ media: { kind: 'image', voice: false } })
    expect(readOne({ type: 'document', document: { filename: 'a.pdf' } })).toMatchObject({
      media: { filename: 'a.pdf' },
    })
    expect(readOne({ type: 'text', text: { body: 'x' } })).toMatchObject({ media: null })
  })

  it.each<[string, Json, Json]>([
    [
      'edit',
      { type: 'edit', edit: { original_message_id: 'wamid.0', message: { type: 'text', text: { body: 'new' } } } },
      { change: 'edit', type: 'edit', text: 'new', newText: 'new', originalWamid: 'wamid.0' },
    ],
    [
      'edited caption',
      { type: 'edit', edit: { message: { type: 'image', image: { caption: 'new' } } } },
      { change: 'edit', text: 'new', newText: 'new', originalWamid: null },
    ],
    ['edit without text', { type: 'edit', edit: {} }, { change: 'edit', text: '[edit]', newText: null }],
    [
      'revoke',
      { type: 'revoke', revoke: { original_message_id: 'wamid.0' } },
      { change: 'revoke', type: 'revoke', text: '[revoke]', newText: null, originalWamid: 'wamid.0' },
    ],
  ])('%s: a change of a message, forwarded, that opens no window', (_name, message, change) => {
    expect(readOne(message)).toMatchObject({ kind: 'change', isForwarded: true, opensWindow: false, ...change })
  })

  it('names the message replied to, edited or revoked, and the error it came with', () => {
    expect(readOne({ type: 'text', context: { id: 'wamid.0' } })).toMatchObject({
      quotedWamid: 'wamid.0',
      originalWamid: null,
    })
    expect(readOne({ type: 'edit', edit: { original_message_id: 'wamid.0' } })).toMatchObject({
      originalWamid: 'wamid.0',
    })
    expect(readOne({ type: 'revoke', revoke: { original_message_id: 'wamid.0' } })).toMatchObject({
      originalWamid: 'wamid.0',
    })
    const errors = [{ code: 131051, title: 'Unknown', error_data: { details: 'a poll' } }]
    expect(readOne({ type: 'unsupported', errors })).toMatchObject({
      error: { code: 131051, title: 'Unknown', details: 'a poll' },
    })
  })

  it('is cleaned of what the database refuses, while its raw text stays', () => {
    const item = readOne({ type: 'text', text: { body: 'a\0b\uD83D' } })
    expect(item).toMatchObject({ text: 'a\uFFFDb\uFFFD' })
    expect(item.raw()).toContain('a\\u0000b\\ud83d')
  })
})

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
