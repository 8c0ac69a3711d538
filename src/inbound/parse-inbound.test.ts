import { describe, expect, it } from 'vitest'
import type { InboundItem } from './inbound-item.ts'
import { parseInbound } from './parse-inbound.ts'

type Json = Record<string, unknown>

const METADATA = { display_phone_number: '49301234567', phone_number_id: '555' }
const itemsOf = (text: string): InboundItem[] => {
  const parsed = parseInbound(text)
  return parsed.kind === 'items' ? parsed.items : []
}
const read = (
  field: string | undefined,
  value: unknown,
  body: Json = {},
  entry: Json = { id: '901', time: 1760000000 },
) => itemsOf(JSON.stringify({ ...body, entry: [{ ...entry, changes: [{ field, value }] }] }))

describe('a body', () => {
  it.each(['', 'nonsense', '{"entry":', '[1,2]', 'null', '"x"', '5'])('%j is unreadable', (text) => {
    expect(parseInbound(Buffer.from(text)).kind).toBe('unreadable')
  })

  it('may begin with a byte order mark', () => {
    expect(parseInbound(Buffer.from('\uFEFF{"entry":[]}'))).toEqual({ kind: 'items', items: [] })
  })

  it.each<[string, Json, string | null]>([
    ['a partner event', { id: 'x', event: 'channel_created', data: {} }, 'channel_created'],
    ["Gupshup's set-callback", { type: 'set-callback' }, 'set-callback'],
    ['an empty object', {}, null],
  ])('without entries is ignored: %s', (_name, body, field) => {
    expect(itemsOf(JSON.stringify(body))).toMatchObject([{ kind: 'ignored', field, route: { by: 'nothing' } }])
  })

  it('is cut into items in its own order, each with its key, company and own text', () => {
    const message = (id: string) => ({ id, from: '1', type: 'text' })
    const change = (phone_number_id: string, value: Json) => ({
      field: 'messages',
      value: { metadata: { phone_number_id }, ...value },
    })
    const entry = [
      {
        id: '901',
        changes: [
          change('5', { messages: [message('a'), 7, message('b')], statuses: [{ id: 'c', status: 'read' }] }),
          change('6', { messages: [message('d')] }),
        ],
      },
      'broken',
      { id: '902', changes: [change('7', { messages: [message('e')] }), {}] },
    ]
    const items = itemsOf(JSON.stringify({ entry }))
    expect(
      items.map((item) => [item.key, item.kind, item.route.by === 'sender' ? item.route.phoneNumberId : item.route.by]),
    ).toEqual([
      ['0.0.messages.0', 'message', '5'],
      ['0.0.messages.1', 'unreadable-item', '5'],
      ['0.0.messages.2', 'message', '5'],
      ['0.0.statuses.0', 'status', '5'],
      ['0.1.messages.0', 'message', '6'],
      ['1.0', 'unreadable-item', 'nothing'],
      ['2.0.messages.0', 'message', '7'],
      ['2.1', 'unreadable-item', 'account'],
    ])
    expect(JSON.parse(items[2]!.raw())).toEqual({
      entry: [
        {
          id: '901',
          changes: [{ field: 'messages', value: { metadata: { phone_number_id: '5' }, messages: [message('b')] } }],
        },
      ],
    })
  })

  it('of more items than a provider can send is read up to a limit', () => {
    const items = itemsOf(`{"entry":[{"changes":[{"value":{"messages":[${'1,'.repeat(50_000)}1]}}]}]}`)
    expect(items).toHaveLength(40_001)
    expect(items.at(-1)).toMatchObject({ kind: 'unreadable-item', key: 'body' })
  })

  it('of hostile depth costs no sibling', () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
    const messages = `[{"id":"a","from":"1","type":"text","text":${deep}},{"id":12345678901,"from":"1","type":"text","text":{"body":"x"}}]`
    const items = itemsOf(`{"entry":[{"changes":[{"value":{"messages":${messages}}}]}]}`)
    expect(items).toMatchObject([
      { wamid: 'a', text: '[text]' },
      { wamid: '12345678901', text: 'x' },
    ])
    expect(items[0]!.raw()).toContain(deep)
  })
})

describe('the field decides the meaning', () => {
  const messages = [{ id: 'a', from: '1', type: 'text', text: { body: 'x' } }]

  it('absent, it is messages', () => {
    expect(read(undefined, { metadata: METADATA, messages })).toMatchObject([{ kind: 'message', field: null }])
  })

  it.each([
    'history',
    'calls',
    'smb_app_state_sync',
    'account_update',
    'something_new',
    'constructor',
  ])('%s is ignored, messages in it or not', (field) => {
    expect(read(field, { metadata: METADATA, messages })).toMatchObject([{ kind: 'ignored', field }])
  })

  it.each<[string, Json, string]>([
    ['errors alone', { errors: [{ code: 131000 }] }, 'ignored'],
    ['nothing known', { user_actions: [{}] }, 'ignored'],
    ['messages that are no list', { messages: {} }, 'unreadable-item'],
  ])('messages with %s', (_name, value, kind) => {
    expect(read('messages', value)).toMatchObject([{ kind }])
  })
})

describe('the way to the company', () => {
  const list = [{ id: 'a', status: 'read', from: '1' }]
  const gupshup = { gs_app_id: 'app-1' }

  it.each<[string, string, Json, Json, Json, Json]>([
    [
      'a message by its number',
      'messages',
      { metadata: METADATA, messages: list },
      gupshup,
      { id: '901' },
      { by: 'sender', phoneNumberId: '555' },
    ],
    [
      'a number id above 2^53',
      'messages',
      { metadata: { phone_number_id: '90071992547409931' }, messages: list },
      {},
      {},
      { by: 'sender', phoneNumberId: '90071992547409931' },
    ],
    [
      "a message without number by Gupshup's app",
      'messages',
      { messages: list },
      gupshup,
      { id: '901' },
      { by: 'app', gupshupAppId: 'app-1' },
    ],
    ['a message without either by nothing', 'messages', { messages: list }, {}, { id: '901' }, { by: 'nothing' }],
    [
      "a status without number by Gupshup's app",
      'messages',
      { statuses: list },
      gupshup,
      {},
      { by: 'app', gupshupAppId: 'app-1' },
    ],
    [
      'a status without number by the account',
      'messages',
      { statuses: list },
      {},
      { id: '901' },
      { by: 'account', wabaAccountId: '901' },
    ],
    [
      'a template event by the account',
      'message_template_status_update',
      { event: 'APPROVED', message_template_id: 1 },
      gupshup,
      { id: 901 },
      { by: 'account', wabaAccountId: '901' },
    ],
    [
      "a template event without account by Gupshup's app",
      'message_template_status_update',
      { event: 'APPROVED', message_template_id: 1 },
      gupshup,
      {},
      { by: 'app', gupshupAppId: 'app-1' },
    ],
  ])('%s', (_name, field, value, body, entry, route) => {
    expect(read(field, value, body, entry)[0]?.route).toEqual(route)
  })

  it('is exact where ids are numbers above 2^53', () => {
    const text =
      '{"entry":[{"id":12345678901234567890,"changes":[{"field":"message_template_status_update","value":{"event":"APPROVED","message_template_id":90071992547409931}}]}]}'
    expect(itemsOf(text)).toMatchObject([
      { route: { wabaAccountId: '12345678901234567890' }, templateId: '90071992547409931' },
    ])
  })
})

describe('a status', () => {
  const readStatus = (status: Json) =>
    read('messages', { metadata: METADATA, statuses: [{ id: 'wamid.1', timestamp: '1760000000', ...status }] })[0]

  it.each([
    ['sent', 'sent'],
    ['delivered', 'delivered'],
    ['read', 'read'],
    ['played', 'read'],
    ['failed', 'failed'],
    ['READ', 'read'],
  ])('%s is %s', (status, known) => {
    expect(readStatus({ status })).toMatchObject({
      kind: 'status',
      status: known,
      wamid: 'wamid.1',
      timestamp: 1760000000,
    })
  })

  it.each<Json>([
    { status: 'in_orbit' },
    { status: 'deleted' },
    { type: 'set-callback' },
    { status: 'captured', type: 'payment' },
    { status: 'read', id: null },
    { status: 'read', type: 'call' },
  ])('%j is ignored', (status) => {
    expect(readStatus(status)).toMatchObject({ kind: 'ignored' })
  })

  it('names its message, recipient and our own id', () => {
    expect(
      readStatus({
        status: 'sent',
        recipient_id: '4915100000001',
        recipient_user_id: 'DE.1',
        biz_opaque_callback_data: '42',
      }),
    ).toMatchObject({
      recipientPhone: '4915100000001',
      recipientUserId: 'DE.1',
      callbackData: '42',
      gupshupId: null,
      error: null,
    })
    expect(
      readStatus({ status: 'sent', recipient_type: 'group', recipient_id: 'G', recipient_participant_id: '1555' }),
    ).toMatchObject({ recipientPhone: '1555' })
  })

  it("ties Gupshup's own id to the wamid", () => {
    expect(readStatus({ status: 'enqueued', gs_id: 'uuid', timestamp: 1760000000123 })).toMatchObject({
      status: 'enqueued',
      gupshupId: 'uuid',
      wamid: 'wamid.1',
      timestamp: 1760000000,
    })
  })

  it.each<[Json, Json]>([
    [
      { errors: [{ code: 131047, title: 'Re-engagement', error_data: { details: 'late' } }] },
      { code: 131047, title: 'Re-engagement', details: 'late' },
    ],
    [
      { errors: [{ code: '131026', message: 'Undeliverable' }] },
      { code: 131026, title: 'Undeliverable', details: null },
    ],
    [
      { code: 1002, reason: 'Not on WhatsApp' },
      { code: 1002, title: 'Not on WhatsApp', details: null },
    ],
  ])('failed tells why: %j', (status, error) => {
    expect(readStatus({ status: 'failed', ...status })).toMatchObject({ error })
  })
})

describe('a template event', () => {
  const named = { message_template_id: 17, message_template_name: 'welcome', message_template_language: 'pt-BR' }

  it.each([
    ['APPROVED', 'APPROVED'],
    ['REINSTATED', 'APPROVED'],
    ['UNARCHIVED', 'APPROVED'],
    ['PENDING', 'PENDING'],
    ['IN_APPEAL', 'PENDING'],
    ['REJECTED', 'REJECTED'],
    ['PAUSED', 'DISABLED'],
    ['DISABLED', 'DISABLED'],
    ['ARCHIVED', 'DISABLED'],
    ['PENDING_DELETION', 'DISABLED'],
    ['DELETED', 'DISABLED'],
    ['LIMIT_EXCEEDED', 'DISABLED'],
    ['FLAGGED', null],
    ['LOCKED', null],
    ['TOMORROW', null],
    ['constructor', null],
  ])('%s makes it %s', (event, status) => {
    expect(read('message_template_status_update', { ...named, event })).toMatchObject([
      {
        kind: 'template-status',
        event: event.toUpperCase(),
        status,
        templateId: '17',
        name: 'welcome',
        language: 'pt_BR',
        reason: '',
        timestamp: 1760000000,
      },
    ])
  })

  it('carries its reason and explanation', () => {
    const value = { ...named, event: 'REJECTED', reason: 'SCAM', rejection_info: { reason: 'looks odd' } }
    expect(read('message_template_status_update', value)).toMatchObject([{ reason: 'SCAM', explanation: 'looks odd' }])
    expect(read('message_template_status_update', { ...value, reason: 'NONE' })).toMatchObject([{ reason: '' }])
    expect(read('message_template_status_update', { event: 'REJECTED' })).toMatchObject([{ kind: 'ignored' }])
  })

  it("comes in Gupshup's own form too", () => {
    const payload = { id: 'uuid', status: 'rejected', elementName: 'welcome', languageCode: 'en', rejectedReason: 'no' }
    const body = { app: 'Shop', timestamp: 1760000000123, version: 2, type: 'template-event', payload }
    expect(itemsOf(JSON.stringify(body))).toMatchObject([
      {
        kind: 'template-status',
        status: 'REJECTED',
        event: 'REJECTED',
        templateId: 'uuid',
        name: 'welcome',
        language: 'en',
        reason: 'no',
        route: { by: 'app', gupshupAppId: 'Shop' },
        timestamp: 1760000000,
      },
    ])
  })

  it('tells quality, category and components', () => {
    expect(
      read('message_template_quality_update', { ...named, previous_quality_score: 'GREEN', new_quality_score: 'RED' }),
    ).toMatchObject([{ kind: 'template-quality', previousScore: 'GREEN', score: 'RED' }])
    expect(read('template_category_update', { ...named, new_category: 'MARKETING' })).toMatchObject([
      { kind: 'template-category', category: 'MARKETING', previousCategory: null },
    ])
    expect(read('template_category_update', { ...named, correct_category: 'MARKETING' })).toMatchObject([
      { kind: 'ignored' },
    ])
    const components = {
      message_template_title: 'Hi',
      message_template_element: 'Body {{1}}',
      message_template_buttons: [
        {
          message_template_button_type: 'URL',
          message_template_button_text: 'Go',
          message_template_button_url: 'https://x',
        },
        1,
      ],
    }
    expect(read('message_template_components_update', { ...named, ...components })).toMatchObject([
      {
        kind: 'template-components',
        header: 'Hi',
        body: 'Body {{1}}',
        footer: null,
        buttons: [{ type: 'URL', text: 'Go', url: 'https://x', phoneNumber: null }],
      },
    ])
  })
})

describe('an event of the number or the customer', () => {
  it.each([
    [{ current_limit: 'TIER_250' }, 250],
    [{ current_limit: 'TIER_10K', max_daily_conversations_per_business: 'TIER_2K' }, 2000],
    [{ current_limit: 'TIER_100K' }, 100_000],
    [{ current_limit: 'TIER_UNLIMITED' }, 'unlimited'],
    [{ current_limit: 'TIER_NOT_SET' }, null],
    [{}, null],
  ])('quality with %j allows %j', (limits, dailyLimit) => {
    expect(
      read('phone_number_quality_update', { display_phone_number: '+1 631', event: 'UPGRADE', ...limits }),
    ).toMatchObject([
      {
        kind: 'number-quality',
        displayPhone: '1631',
        event: 'UPGRADE',
        dailyLimit,
        route: { by: 'account', wabaAccountId: '901' },
      },
    ])
  })

  it.each([
    ['stop', 'stop'],
    ['resume', 'resume'],
    ['opt-in', 'resume'],
    ['opt_out', 'stop'],
  ])('preference %s is %s', (value, marketing) => {
    const user_preferences = [
      { wa_id: '1555', user_id: 'US.1', category: 'marketing_messages', value, timestamp: 1760000000 },
    ]
    expect(read('user_preferences', { metadata: METADATA, user_preferences })).toMatchObject([
      {
        kind: 'preference',
        marketing,
        customer: { phone: '1555', userId: 'US.1' },
        timestamp: 1760000000,
        route: { by: 'sender' },
      },
    ])
  })

  it('a preference about something else is ignored', () => {
    expect(
      read('user_preferences', { user_preferences: [{ wa_id: '1', category: 'other', value: 'stop' }] }),
    ).toMatchObject([{ kind: 'ignored' }])
  })

  it('a new user id names the one before', () => {
    const user_id_update = [{ wa_id: '1555', user_id: { previous: 'US.1', current: 'US.2' }, timestamp: '1760000000' }]
    expect(read('user_id_update', { metadata: METADATA, user_id_update })).toMatchObject([
      { kind: 'user-id-changed', previousUserId: 'US.1', userId: 'US.2', customer: { phone: '1555', userId: 'US.2' } },
    ])
    expect(read('user_id_update', { user_id_update: [{ wa_id: '1' }] })).toMatchObject([{ kind: 'ignored' }])
  })
})
