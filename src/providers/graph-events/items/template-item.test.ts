import { describe, expect, it } from 'vitest'
import { itemsOf, readChange as read } from '../../../../test/provider-items.ts'

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
    expect(itemsOf(body)).toMatchObject([
      {
        kind: 'template-status',
        status: 'REJECTED',
        event: 'REJECTED',
        templateId: 'uuid',
        name: 'welcome',
        language: 'en',
        reason: 'no',
        route: { by: 'app', appId: 'Shop' },
        timestamp: 1760000000,
      },
    ])
  })

  it("reads category and quality in Gupshup's own form", () => {
    const read = (payload: object) =>
      itemsOf({
        app: 'Shop',
        version: 2,
        type: 'template-event',
        payload: { id: 'uuid', elementName: 'welcome', languageCode: 'en-US', ...payload },
      })
    const place = { templateId: 'uuid', name: 'welcome', language: 'en_US', route: { by: 'app', appId: 'Shop' } }
    expect(read({ type: 'category-update', category: { old: 'MARKETING', new: 'utility' } })).toMatchObject([
      { kind: 'template-category', category: 'UTILITY', previousCategory: 'MARKETING', ...place },
    ])
    expect(read({ type: 'category-update', category: { current: 'MARKETING', correct: 'UTILITY' } })).toMatchObject([
      { kind: 'ignored' },
    ])
    expect(read({ type: 'quality-update', quality: 'yellow' })).toMatchObject([
      { kind: 'template-quality', score: 'YELLOW', previousScore: null, ...place },
    ])
    expect(read({ type: 'quality-update', quality: { old: 'GREEN', new: 'RED' } })).toMatchObject([
      { kind: 'template-quality', score: 'RED', previousScore: 'GREEN' },
    ])
    expect(read({ type: 'quality-update', quality: { old: 'HIGH', new: 'LOW' } })).toMatchObject([
      { kind: 'template-quality', score: 'RED', previousScore: 'GREEN' },
    ])
    expect(read({ type: 'quality-update', quality: 'poor' })).toMatchObject([
      { kind: 'template-quality', score: 'UNKNOWN', previousScore: null },
    ])
    expect(read({ type: 'quality-update' })).toMatchObject([{ kind: 'ignored' }])
    expect(read({ type: 'status-update', status: 'paused', description: 'for 3 hours' })).toMatchObject([
      { kind: 'template-status', status: 'DISABLED', event: 'PAUSED', explanation: 'for 3 hours' },
    ])
  })

  it('has quality, category and components', () => {
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
