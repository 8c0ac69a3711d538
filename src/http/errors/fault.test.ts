import { type TSchema, Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { compileValidator, InvalidRequest } from '../body/input.ts'
import { toPath } from './fault.ts'

function faultsOf(schema: TSchema, body: unknown): string[] {
  const result: unknown = compileValidator({ schema, method: 'POST', url: '/', httpPart: 'body' })(body)
  if (typeof result !== 'object' || result === null || !('error' in result)) return []
  if (!(result.error instanceof InvalidRequest)) throw new Error('fails in another way')
  return result.error.listFaults().faults.map(({ kind, path, message }) => `${kind} ${path}: ${message}`)
}

const Text = Type.Object({ type: Type.Literal('text'), text: Type.String() }, { additionalProperties: false })
const Media = Type.Object(
  { type: Type.Literal('image'), media: Type.Object({ link: Type.String({ format: 'uri' }) }) },
  { additionalProperties: false },
)
const Message = Type.Union([Text, Media])

describe('faults', () => {
  test.each([
    [{ type: 'text', text: 'Hi' }, []],
    [{ type: 'text', text: 7 }, ['value text: must be string']],
    [{ type: 'text' }, ['shape text: is required']],
    [{ type: 'image', media: { link: 'x' } }, ['value media.link: must match format "uri"']],
    [{ type: 'text', text: 'Hi', media: {} }, ['value media: is not known here']],
    [{ type: 'fax', text: 'Hi' }, ['value type: must be one of text, image']],
    ['Hi', ['shape body: must be object']],
  ])('of a union are those of the branch that the caller chose: %j', (body, faults) => {
    expect(faultsOf(Message, body)).toEqual(faults)
  })

  test('of a list are named by their place', () => {
    expect(
      faultsOf(Type.Array(Message), [
        { type: 'text', text: 'Hi' },
        { type: 'text', text: null },
      ]),
    ).toEqual(['value [1].text: must be string'])
  })

  test('of members that exclude each other are of shape', () => {
    const either = Type.Unsafe<unknown>({ oneOf: [{ required: ['id'] }, { required: ['name'] }] })
    expect(faultsOf(either, { id: 1, name: 'x' })).toEqual(['shape body: combines members that exclude each other'])
    expect(faultsOf(either, {})).toEqual(['shape id: is required'])
    const not = Type.Unsafe<unknown>({ not: { required: ['a', 'b'] } })
    expect(faultsOf(not, { a: 1, b: 2 })).toEqual(['shape body: must NOT be valid'])
  })

  test('are a hundred at most, each reported once', () => {
    expect(faultsOf(Type.Array(Type.String()), Array(5_000).fill(1))).toHaveLength(100)
  })

  test('never coerce a body', () => {
    expect(faultsOf(Type.Object({ n: Type.Integer() }), { n: '7' })).toEqual(['value n: must be integer'])
  })
})

test.each([
  ['', 'body', 'body'],
  ['/messages/3/text', undefined, 'messages[3].text'],
  ['/0', 'email', '[0].email'],
  ['/a~1b/c~0d', undefined, 'a/b.c~d'],
])('a pointer %j is written %j', (pointer, child, path) => {
  expect(toPath(pointer, child)).toBe(path)
})
