import { describe, expect, test } from 'vitest'
import { chooseVersion, type Template, templateStatusOf } from './template.ts'

const version = (language: string, status: Template['status'] = 'APPROVED'): Template => ({
  familyId: 'tmpl_1',
  name: 'order',
  language,
  status,
  category: 'UTILITY',
  parameterFormat: 'POSITIONAL',
  components: [],
})

const refusal = (run: () => unknown) => {
  try {
    run()
  } catch (error) {
    const { status, body } = error as { status: number; body: unknown }
    return { status, body }
  }
  return undefined
}

describe('the language that is sent', () => {
  test.each([
    ['the one asked for', [version('it'), version('en_US')], 'en_US', 'en_US'],
    ['the one asked for, written with a hyphen', [version('it'), version('en_US')], 'en-US', 'en_US'],
    ['the one asked for, in lower case', [version('it'), version('en_US')], 'en_us', 'en_US'],
    ['the one asked for, in upper case', [version('en'), version('zh-Hant-TW')], 'ZH_HANT_TW', 'zh-Hant-TW'],
    ['the only one', [version('it')], undefined, 'it'],
    ['the oldest approved one', [version('it', 'PENDING'), version('de'), version('en')], undefined, 'de'],
  ])('is %s', (_, versions, asked, expected) => {
    expect(chooseVersion(versions, asked).language).toBe(expected)
  })

  test('unknown language: 404 template_not_found, naming those that exist', () => {
    expect(refusal(() => chooseVersion([version('it'), version('de')], 'fr'))).toMatchObject({
      status: 404,
      body: { error: { code: 'template_not_found', details: { languages: ['it', 'de'] } } },
    })
  })

  test('unknown family: 404 template_not_found', () => {
    expect(refusal(() => chooseVersion([], undefined))).toMatchObject({ status: 404 })
  })

  test.each(['PENDING', 'REJECTED', 'DISABLED'] as const)('%s: 422 template_not_approved', (status) => {
    expect(refusal(() => chooseVersion([version('it', status)], undefined))).toMatchObject({
      status: 422,
      body: { error: { code: 'template_not_approved' } },
    })
  })
})

test.each([
  ['approved', 'APPROVED'],
  ['REINSTATED', 'APPROVED'],
  ['IN_APPEAL', 'PENDING'],
  ['REJECTED', 'REJECTED'],
  ['PAUSED', 'DISABLED'],
  ['LIMIT_EXCEEDED', 'DISABLED'],
  ['FLAGGED', undefined],
  ['anything', undefined],
])("the provider's word %s means %s", (word, status) => {
  expect(templateStatusOf(word)).toBe(status)
})
