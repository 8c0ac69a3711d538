import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NUMBER_ID, startProvider } from '../../../test/providers/provider-stand-in.ts'
import { describeProvider, type ProviderUnderTest } from '../provider-suite.ts'
import { readNumber, readTemplateRecord } from './dialog360.ts'

const ids = { wamid: expect.stringMatching(/^wamid\./), providerMessageId: null }
const start = () => startProvider('dialog360', '/dialog360', `key-${NUMBER_ID}`, ids)

describeProvider('dialog360', start)

describe('differences of 360dialog', () => {
  let subject: ProviderUnderTest
  beforeAll(async () => {
    subject = await start()
  })
  afterAll(() => subject.stop())

  test('a refusal of its older API is read', async () => {
    const own = { ownRefusal: { status: 403, message: 'unused' } }
    await subject.control('PUT', '/behaviour', own)
    const outcome = await subject.provider.send(subject.access, '{}')
    expect(outcome).toMatchObject({ kind: 'refused', error: { title: 'unused' } })
    await subject.control('PUT', '/behaviour', { ownRefusal: null })
  })

  test('media that are asked for too often wait an hour', async () => {
    await subject.control('PUT', '/behaviour', { ownRefusal: { status: 429, message: 'Blocked' } })
    const outcome = await subject.provider.fetchMedia(subject.access, '1', AbortSignal.timeout(60_000))
    expect(outcome).toEqual({ kind: 'throttled', retryAfterSeconds: 3600 })
    await subject.control('PUT', '/behaviour', { ownRefusal: null })
  })

  test('a record keeps Meta’s id, its author, and its state in capitals', () => {
    const passedOn = {
      waba_account_id: 'Cyih7GWA',
      created_at: '2023-03-02T13:39:27Z',
      modified_at: '2023-03-04T13:39:27Z',
      updated_external: false,
    }
    const record = {
      id: 'GVsEkeI2PIiARwVXQEDVWT',
      name: 'news',
      language: 'en',
      status: 'submitted',
      category: 'MARKETING',
      external_id: '1387372356726668',
      partner_id: '9Mg0AiPA',
      namespace: '092819ec',
      rejected_reason: '',
      ...passedOn,
      quality_score: { score: 'UNKNOWN', reasons: null },
      created_by: { user_id: 'u1', user_name: 'Ada' },
      modified_by: { user_id: 'system', user_name: 'system' },
      components: [{ type: 'BODY', text: 'Hi' }],
    }
    expect(readTemplateRecord(record)).toEqual({
      externalId: '1387372356726668',
      name: 'news',
      language: 'en',
      status: 'SUBMITTED',
      category: 'MARKETING',
      parameterFormat: 'POSITIONAL',
      components: record.components,
      qualityScore: record.quality_score,
      rejectedReason: '',
      ttlSeconds: null,
      namespace: '092819ec',
      partnerId: '9Mg0AiPA',
      createdBy: record.created_by,
      modifiedBy: record.modified_by,
      passedOn,
    })
    const wrong = { ...record, waba_account_id: 7, created_at: 'soon', modified_at: null, updated_external: 'no' }
    expect(readTemplateRecord(wrong)?.passedOn).toEqual({})
    expect(readTemplateRecord({ ...record, external_id: null })?.externalId).toBe(record.id)
    expect(readTemplateRecord({ ...record, name: undefined })).toBeUndefined()
  })

  test('the number’s id is found among what its health is made of', () => {
    const entities = [
      { entity_type: 'WABA', id: '1' },
      { entity_type: 'PHONE_NUMBER', id: '42' },
    ]
    expect(readNumber({ health_status: { entities } })).toEqual({
      phoneNumberId: '42',
      wabaAccountId: '1',
      appId: null,
      phoneNumber: null,
      phoneName: null,
      isSharedWithApp: false,
    })
  })
})
