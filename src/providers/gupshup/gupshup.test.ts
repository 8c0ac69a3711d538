import { describe, expect, test } from 'vitest'
import { startProvider } from '../../../test/providers/provider-stand-in.ts'
import { eventReader } from '../../wiring/events/event-reader.ts'
import { describeProvider } from '../provider-suite.ts'
import { readGupshupTemplate } from './gupshup-template.ts'

const ids = { wamid: null, providerMessageId: expect.stringMatching(/^[0-9a-f-]{36}$/) }

describeProvider('gupshup', () => startProvider('gupshup', '/gupshup/partner/app/{appId}', 'sk_token', ids))

describe('a template of Gupshup’s', () => {
  const item = {
    id: 'a1b2',
    elementName: 'ticket',
    languageCode: 'en_US',
    category: 'UTILITY',
    templateType: 'DOCUMENT',
    data: 'Your ticket, {{1}}\nAcme | [Open,https://a.example/{{1}}]',
    containerMeta: JSON.stringify({
      data: 'Your ticket, {{1}}',
      footer: 'Acme',
      buttons: [{ type: 'URL', text: 'Open', url: 'https://a.example/{{1}}' }, 'torn'],
      sampleText: 'Your ticket, Ada',
    }),
    status: 'FAILED',
    reason: 'Too vague',
    externalId: '4242',
    quality: 'green',
    namespace: 'ns',
  }

  test('is translated into Meta’s components', () => {
    expect(readGupshupTemplate(item, 'app-1')).toEqual({
      externalId: '4242',
      name: 'ticket',
      language: 'en_US',
      status: 'FAILED',
      category: 'UTILITY',
      parameterFormat: 'POSITIONAL',
      components: [
        { type: 'HEADER', format: 'DOCUMENT' },
        { type: 'BODY', text: 'Your ticket, {{1}}', example: { sample_text: 'Your ticket, Ada' } },
        { type: 'FOOTER', text: 'Acme' },
        { type: 'BUTTONS', buttons: [{ type: 'URL', text: 'Open', url: 'https://a.example/{{1}}' }] },
      ],
      qualityScore: { score: 'GREEN' },
      rejectedReason: 'Too vague',
      namespace: 'ns',
      partnerId: 'app-1',
      createdBy: null,
      modifiedBy: null,
      ttlSeconds: null,
      passedOn: null,
    })
  })

  test.each([
    ['High', 'GREEN'],
    ['MEDIUM', 'YELLOW'],
    ['low', 'RED'],
    ['green', 'GREEN'],
    ['UNKNOWN', 'UNKNOWN'],
    ['PENDING', 'UNKNOWN'],
  ])('of quality %s has the score %s, as in an event', (quality, score) => {
    expect(readGupshupTemplate({ ...item, quality }, 'app-1')?.qualityScore).toEqual({ score })
    const payload = { id: '1', elementName: 'ticket', type: 'quality-update', quality }
    const body = JSON.stringify({ type: 'template-event', gs_app_id: 'app-1', payload })
    const parsed = eventReader.parse(body)
    expect(parsed.kind === 'items' && parsed.items).toMatchObject([{ kind: 'template-quality', score }])
  })

  test('whose parts cannot be read keeps its whole text as body', () => {
    const { components } = readGupshupTemplate({ ...item, templateType: 'TEXT', containerMeta: '{torn' }, 'app-1') ?? {}
    expect(components).toEqual([{ type: 'BODY', text: item.data }])
  })

  test('without a name or language is none', () => {
    expect(readGupshupTemplate({ ...item, elementName: '' }, 'app-1')).toBeUndefined()
    expect(readGupshupTemplate({ ...item, languageCode: null }, 'app-1')).toBeUndefined()
  })
})
