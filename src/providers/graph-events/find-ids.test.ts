import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { providerBodies } from '../../../test/providers/provider-bodies.ts'
import { propertyRuns } from '../../../test/run/property-runs.ts'
import { eventReader } from '../../wiring/events/event-reader.ts'
import type { Route } from '../events/event-item.ts'

const idsOf = (body: unknown) => {
  const ids = eventReader.idsOf(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))
  return ids && [...ids].sort()
}
const idOf = (route: Route): string[] => {
  if (route.by === 'sender') return [route.phoneNumberId]
  if (route.by === 'account') return [route.wabaAccountId]
  return route.by === 'app' ? [route.appId] : []
}
/** Returns the ids the parser finds. */
const parsedIdsOf = (text: string): string[] => {
  const parsed = eventReader.parse(text)
  const items = parsed.kind === 'items' ? parsed.items.filter(({ kind }) => kind !== 'unreadable-item') : []
  return [...new Set(items.flatMap(({ route }) => idOf(route)))]
}

const change = (number: unknown, more: object = {}) => ({
  field: 'messages',
  value: { metadata: { phone_number_id: number }, messages: [{ from: '39333', id: 'w', type: 'text' }], ...more },
})
const bodyOf = (...changes: unknown[]) => ({ gs_app_id: 'app', entry: [{ id: 'account', changes }] })

describe('the ids of a body', () => {
  test('are those of its numbers, and not the account that they share with others', () => {
    expect(idsOf(bodyOf(change('1'), change('2')))).toEqual(['1', '2'])
  })

  test.each([
    ['a change names no number', bodyOf(change('1'), { field: 'message_template_status_update', value: {} })],
    ['a number is empty', bodyOf(change('1'), change(''))],
    ['a change has two values', JSON.stringify(bodyOf(change('1'))).replace('"value"', '"value":{},"value"')],
    ['a name has an escape', JSON.stringify(bodyOf(change('1'))).replace('"metadata"', '"met\\u0061data"')],
    ['the number stands elsewhere', bodyOf(change('1'), { value: {}, other: change('1').value })],
    ['the entries are no list', { ...bodyOf(), entry: { a: bodyOf(change('1')).entry[0] } }],
    ['there are two lists of entries', JSON.stringify(bodyOf(change('1'))).replace('{', '{"entry":[],')],
  ])('are also account and app where %s', (_case, body) => {
    expect(idsOf(body)).toEqual(expect.arrayContaining(['account', 'app']))
  })

  test('are also that of the account that an event names', () => {
    const value = { event: 'PARTNER_ADDED', waba_info: { waba_id: '901', owner_business_id: '7' } }
    const body = { entry: [{ id: 'business', changes: [{ field: 'account_update', value }] }] }
    expect(idsOf(body)).toEqual(['901', 'business'])
    expect(parsedIdsOf(JSON.stringify(body))).toEqual(['901'])
  })

  test.each([
    '"phone_number_id"',
    '"phone\\u005fnumber_id"',
    '"\\u0070hone_number_id" \n',
  ])('are found at %s', (name) => {
    const text = JSON.stringify(bodyOf(change('12'))).replace('"phone_number_id"', name)
    expect([parsedIdsOf(text), idsOf(text)?.includes('12')]).toEqual([['12'], true])
  })

  test.each(['12', '"1\\u0032"', '12.0', '1.2e1', '123456789012345678', '1e21'])('are found as %s', (value) => {
    const text = JSON.stringify(bodyOf(change('?'))).replace('"?"', value)
    for (const id of parsedIdsOf(text)) expect(idsOf(text)).toContain(id)
  })

  test.each(['', '\uFEFF', ' \r\n\t', '\uFEFF '])('are found behind %j', (start) => {
    const text = `${start}${JSON.stringify(bodyOf(change('1')))}`
    expect([parsedIdsOf(text), idsOf(text)]).toEqual([['1'], ['1']])
  })

  test.each(['garbage ', '[', '\uFEFF\uFEFF', '\u00A0'])('are none behind %j, where the body is no object', (start) => {
    const text = `${start}${JSON.stringify(bodyOf(change('1')))}`
    expect([parsedIdsOf(text), idsOf(text)]).toEqual([[], []])
  })

  test('are too many beyond the bounds', () => {
    expect(idsOf(bodyOf(...Array.from({ length: 257 }, (_, n) => change(String(n)))))).toBeUndefined()
    expect(idsOf(`{"entry":[${'{},'.repeat(50_000)}{}]}`)).toBeUndefined()
    expect(idsOf(`{"entry":[{${'"id":1,'.repeat(50_000)}"id":2}]}`)).toBeUndefined()
    expect(idsOf(`{"app":${'1'.repeat(200)}}`)).toBeUndefined()
  })

  test('hold all that the parser finds in bodies of providers', () => {
    for (const { body } of providerBodies) {
      const found = eventReader.idsOf(body)
      for (const id of parsedIdsOf(String(body))) expect(found).toContain(id)
    }
  })

  test('hold all that the parser finds, whatever the structure', () => {
    const word = fc.constantFrom(
      'entry',
      'changes',
      'value',
      'metadata',
      'phone_number_id',
      'id',
      'app',
      'gs_app_id',
      'field',
      'statuses',
    )
    const written = (name: string, at: number) =>
      at >= name.length
        ? `"${name}"`
        : `"${name.slice(0, at)}\\u00${name.charCodeAt(at).toString(16)}${name.slice(at + 1)}"`
    const name = fc.tuple(word, fc.nat(60)).map(([one, at]) => written(one, at))
    const leaf = fc.constantFrom(
      '"1"',
      '"2"',
      '3',
      '4.0',
      '""',
      'null',
      '"message_template_status_update"',
      '"event-x"',
    )
    const { json } = fc.letrec<{ json: string }>((tie) => ({
      json: fc.oneof(
        { maxDepth: 9, withCrossShrink: true },
        leaf,
        fc.array(tie('json'), { maxLength: 3 }).map((all) => `[${all.join(',')}]`),
        fc
          .array(fc.tuple(name, tie('json')), { maxLength: 4 })
          .map((all) => `{${all.map(([key, one]) => `${key}:${one}`).join(',')}}`),
      ),
    }))
    /** Repeats, replaces and adds pieces in a regular body. */
    const piece = fc.tuple(fc.nat(12), name, json)
    const mutated = fc.array(piece, { maxLength: 4 }).map((pieces) => {
      let text = JSON.stringify({
        entry: [
          {
            id: 'A',
            changes: [
              change('N1'),
              { field: 'message_template_status_update', value: { event: 'APPROVED', message_template_id: '7' } },
            ],
          },
        ],
        app: 'P',
      })
      for (const [at, key, one] of pieces) {
        const places = [...text.matchAll(/[{[]/g)].map(({ index }) => index)
        const place = places[at % places.length]!
        const isArray = text[place] === '['
        const rest = text.slice(place + 1)
        const comma = /^[\]}]/.test(rest) ? '' : ','
        text = `${text.slice(0, place + 1)}${isArray ? one : `${key}:${one}`}${comma}${rest}`
      }
      return text
    })
    fc.assert(
      fc.property(
        fc.oneof(
          json,
          mutated,
          mutated.map((text) => text.replaceAll('},{', '},"x":{')),
        ),
        (text) => {
          const found = idsOf(text)
          for (const id of parsedIdsOf(text)) expect(found, text).toContain(id)
        },
      ),
      { numRuns: propertyRuns(1_000) },
    )
  })
})
