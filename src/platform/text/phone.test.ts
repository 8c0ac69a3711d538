import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { phoneIdentity } from './phone.ts'

describe('two written numbers are one customer', () => {
  test.each([
    ['Mexico: 521 + 10 digits and 52 + 10', '5215512345678', '525512345678'],
    ['Argentina: 549 + 10 digits and 54 + 10', '5491123456789', '541123456789'],
    ['Brazil: 9 + 8 digits that begin with 6', '5511961234567', '551161234567'],
    ['Brazil: 9 + 8 digits that begin with 7', '5511971234567', '551171234567'],
    ['Brazil: 9 + 8 digits that begin with 8', '5511987654321', '551187654321'],
    ['Brazil: 9 + 8 digits that begin with 9', '5511991234567', '551191234567'],
  ])('%s', (_, one, other) => {
    expect(phoneIdentity(one)).toBe(phoneIdentity(other))
  })
})

describe('two written numbers are two customers', () => {
  test.each([
    ['Brazil: 9 + 8 digits that begin with 3, and the landline', '5511934567254', '551134567254'],
    ['Brazil: 9 + 8 digits that begin with 2, and the landline', '5511921234567', '551121234567'],
    ['Brazil: 9 + 8 digits that begin with 5, and the landline', '5511951234567', '551151234567'],
    ['Mexico: 521 + 9 digits and 52 + 9', '521551234567', '52551234567'],
    ['Argentina: 549 + 11 digits and 54 + 11', '54911234567890', '5411234567890'],
    ['Italy: a 9 after the area code', '39339123456789', '3933123456789'],
  ])('%s', (_, one, other) => {
    expect(phoneIdentity(one)).not.toBe(phoneIdentity(other))
  })

  test('whatever the number, only one digit is ever dropped, after 55 and area, 52 or 54, and the identity is stable', () => {
    const digits = fc.stringMatching(/^(52|54|55|39|1)[0-9]{5,13}$/)
    fc.assert(
      fc.property(digits, (number) => {
        const identity = phoneIdentity(number)
        const place = number.startsWith('55') ? 4 : 2
        const dropped = number.slice(0, place) + number.slice(place + 1)
        expect([number, dropped]).toContain(identity)
        expect(phoneIdentity(identity)).toBe(identity)
      }),
    )
  })
})
