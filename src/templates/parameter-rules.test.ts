import { expect, test } from 'vitest'
import { AppError } from '../platform/errors.ts'
import { requireParameters } from './parameter-rules.ts'

function refusalOf(parameter: { type: string; [member: string]: unknown }): unknown {
  try {
    requireParameters([{ type: 'BODY', parameters: [parameter] }])
  } catch (error) {
    return error instanceof AppError ? error.body : error
  }
  return undefined
}

test.each([
  [{ type: 'text', text: 'Ada', parameterName: 'first_name' }, 'parameterName', 'parameter_name'],
  [{ type: 'text', Text: 'Ada' }, 'Text', 'text'],
  [{ type: 'text', text: 'Ada', parameter_nam: 'first_name' }, 'parameter_nam', 'parameter_name'],
  [
    { type: 'document', document: { link: 'https://a.example/b.pdf', fileName: 'b.pdf' } },
    'document.fileName',
    'filename',
  ],
  [{ type: 'currency', currency: { fallbackValue: '1' } }, 'currency.fallbackValue', 'fallback_value'],
])('%j is refused at %s for %s', (parameter, path, meant) => {
  expect(refusalOf(parameter)).toMatchObject({
    error: {
      code: 'validation_error',
      details: {
        fields: [
          {
            path: `template.components[0].parameters[0].${path}`,
            message: `is not known here: did you mean ${meant}?`,
          },
        ],
      },
    },
  })
})

test('other members go to the provider as they are', () => {
  expect(refusalOf({ type: 'text', text: 'Ada', a_member_of_tomorrow: 1 })).toBeUndefined()
})
