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
