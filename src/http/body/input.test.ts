import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AppError } from '../../platform/errors.ts'
import { findUnstorable, MAX_NESTING, readJson } from './input.ts'

const read = (text: string) => readJson(Buffer.from(text))
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

function refusalOf(text: string): { status: number; paths: string[] } {
  try {
    read(text)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { body } = error
    const details = 'error' in body && typeof body.error === 'object' ? body.error.details : undefined
    const fields = (details?.fields ?? []) as { path: string }[]
    return { status: error.status, paths: fields.map(({ path }) => path) }
  }
  throw new Error('was not refused')
}

describe('a JSON body', () => {
  test('is read as it stands, whatever it holds', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5, noUnicodeString: false }), (value) => {
        const text = JSON.stringify(value)
        if (text.includes('\\u0000') || /\\ud[89a-f]/i.test(text) || /[0-9]{16}/.test(text)) return
        expect(read(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  test('is refused for exactly the values that no database keeps, wherever they stand', () => {
    const steps = fc.array(fc.oneof(fc.constant(0), fc.stringMatching(/^[a-z]{1,5}$/)), { maxLength: 20 })
    const bad = fc.constantFrom('"a\\u0000b"', '"\\ud800"', '"\\udfff!"', '1e400', '-1e999')
    fc.assert(
      fc.property(steps, bad, (path, value) => {
        const text = path.reduceRight<string>(
          (inner, step) => (step === 0 ? `["ok\\u0041",${inner}]` : `{"ok":1,"${step}_":${inner}}`),
          value,
        )
        const named = path.map((step, place) => (step === 0 ? '[1]' : `${place === 0 ? '' : '.'}${step}_`)).join('')
        expect(refusalOf(text)).toEqual({ status: 422, paths: [named === '' ? 'body' : named] })
      }),
    )
  })

  test.each([
    ['"\\ud83d\\ude00"', '😀'],
    ['"\\u00e9"', 'é'],
    ['1e308', 1e308],
  ])('keeps what is whole: %s', (text, value) => {
    expect(read(text)).toBe(value)
  })

  test('skips a byte order mark', () => {
    expect(read('\ufeff{"a":1}')).toEqual({ a: 1 })
    expect(refusalOf('\ufeff').status).toBe(400)
  })

  test.each(['12345678901234567890', '9007199254740992', '-9007199254740993'])('refuses the integer %s', (integer) => {
    expect(refusalOf(`{"customFields":{"crm": ${integer} ,"n":1}}`)).toEqual({
      status: 422,
      paths: ['customFields.crm'],
    })
  })

  test.each([
    '9007199254740991',
    '-9007199254740991',
    '1e300',
    '"12345678901234567890"',
    '0.12345678901234567',
  ])('keeps %s', (value) => {
    expect(read(`{"a":[${value}]}`)).toEqual({ a: [JSON.parse(value)] })
  })

  test('a name with NUL is named by its place', () => {
    expect(refusalOf('{"a":{"b\\u0000":1}}')).toEqual({ status: 422, paths: ['a'] })
  })

  test(`may be ${MAX_NESTING} levels deep, and no deeper, at any size`, () => {
    expect(read(nested(MAX_NESTING))).toBeDefined()
    const place = '[0]'.repeat(MAX_NESTING)
    for (const levels of [MAX_NESTING + 1, 10_000, 500_000]) {
      expect(refusalOf(nested(levels))).toEqual({ status: 422, paths: [place] })
    }
  })

  test('with members named __proto__ or constructor pollutes nothing and loses nothing', () => {
    const body = read('{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},"a":1}') as object
    expect(Object.keys(body)).toEqual(['__proto__', 'constructor', 'a'])
    expect(Object.getPrototypeOf(body)).toBe(Object.prototype)
    expect('admin' in {}).toBe(false)
    expect(refusalOf('{"__proto__":{"a":1e400}}').paths).toEqual(['__proto__.a'])
  })

  test('is 400 when it is no JSON or no UTF-8', () => {
    for (const bytes of [Buffer.from('{'), Buffer.from(''), Buffer.from([0xc3, 0x28])]) {
      expect(() => readJson(bytes)).toThrow(AppError)
    }
    expect(refusalOf('{').status).toBe(400)
  })

  test('names at most a hundred places', () => {
    expect(findUnstorable(Array(5_000).fill(Number.POSITIVE_INFINITY), { checkText: false })).toHaveLength(100)
  })
})
