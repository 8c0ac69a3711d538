import { describe, expect, it } from 'vitest'
import { METADATA, readChange as read } from '../../../../test/provider-items.ts'

type Json = Record<string, unknown>

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
  ])('%s is %s', (status, expected) => {
    expect(readStatus({ status })).toMatchObject({
      kind: 'status',
      status: expected,
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
      providerMessageId: null,
      error: null,
    })
    expect(
      readStatus({ status: 'sent', recipient_type: 'group', recipient_id: 'G', recipient_participant_id: '1555' }),
    ).toMatchObject({ recipientPhone: '1555' })
  })

  it("ties Gupshup's own id to the wamid", () => {
    expect(readStatus({ status: 'enqueued', gs_id: 'uuid', timestamp: 1760000000123 })).toMatchObject({
      status: 'enqueued',
      providerMessageId: 'uuid',
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
  ])('a failure has its reason: %j', (status, error) => {
    expect(readStatus({ status: 'failed', ...status })).toMatchObject({ error })
  })
})
