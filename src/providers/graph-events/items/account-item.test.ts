import { describe, expect, it } from 'vitest'
import { METADATA, readChange as read } from '../../../../test/provider-items.ts'

describe('an event of the number or the customer', () => {
  it.each([
    [{ current_limit: 'TIER_250' }, 250],
    [{ current_limit: 'TIER_10K', max_daily_conversations_per_business: 'TIER_2K' }, 2000],
    [{ current_limit: 'TIER_100K' }, 100_000],
    [{ current_limit: 'TIER_1M' }, 1_000_000],
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
      {
        ...{ kind: 'user-id-changed', wamid: null, previousUserIds: ['US.1'], userId: 'US.2' },
        customer: { phone: '1555', userId: 'US.2' },
      },
    ])
    expect(read('user_id_update', { user_id_update: [{ wa_id: '1' }] })).toMatchObject([{ kind: 'ignored' }])
  })
})
