import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fixedClock } from '../platform/clock.ts'
import { addressSecretOf, createMediaSigner, mediaAddress, verifyMediaToken } from './signed-address.ts'

const newKey = () => randomBytes(32).toString('base64')
const secret = addressSecretOf(newKey())
const base = 'https://api.example'
const tokenOf = (address: string) => address.slice(`${base}/media/`.length)
const at = new Date('2026-01-01T10:20:00Z')

describe('an address', () => {
  test('admits to its message and no other, until the full hour after its time', () => {
    const token = tokenOf(mediaAddress(base, secret, 12, 9_007_199_254_740_991, at))
    const pass = { companyId: 12, messageId: 9_007_199_254_740_991, expiresAt: new Date('2026-01-01T11:00:00Z') }
    expect(verifyMediaToken([secret], token, new Date('2026-01-01T10:59:59.999Z'))).toEqual(pass)
    expect(verifyMediaToken([secret], token, new Date('2026-01-01T11:00:00Z'))).toBeUndefined()
  })

  test('is of signs that need no escaping', () => {
    expect(mediaAddress(base, secret, 1, 1, at)).toMatch(/^https:\/\/api\.example\/media\/[A-Za-z0-9_-]{71}$/)
  })

  test('is worth nothing with another secret', () => {
    const token = tokenOf(mediaAddress(base, secret, 1, 1, at))
    expect(verifyMediaToken([addressSecretOf(newKey())], token, at)).toBeUndefined()
  })

  test('is worth nothing when any one sign is changed, taken away or added', () => {
    const token = tokenOf(mediaAddress(base, secret, 1, 2, at))
    const sign = fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/. ')
    const place = fc.nat(token.length - 1)
    fc.assert(
      fc.property(place, sign, (index, other) => {
        fc.pre(token[index] !== other)
        const changed = `${token.slice(0, index)}${other}${token.slice(index + 1)}`
        const inserted = `${token.slice(0, index)}${other}${token.slice(index)}`
        const shortened = token.slice(0, index) + token.slice(index + 1)
        for (const one of [changed, inserted, shortened]) expect(verifyMediaToken([secret], one, at)).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })

  test('no text makes it throw', () => {
    fc.assert(fc.property(fc.string(), (text) => verifyMediaToken([secret], text, at) === undefined))
  })
})

describe('the signer', () => {
  const clock = fixedClock('2026-01-01T10:20:00Z')
  const [first, second] = [newKey(), newKey()]
  const signerOf = (...encryptionKeys: string[]) => createMediaSigner({ baseUrl: base, encryptionKeys, clock })

  test('gives the same address for an hour, good for 7 days from any moment of it', () => {
    clock.set('2026-01-01T10:00:01Z')
    const early = signerOf(first).address(1, 2)
    clock.set('2026-01-01T11:00:00Z')
    expect(signerOf(first).address(1, 2)).toBe(early)
    clock.set('2026-01-08T10:59:59Z')
    expect(signerOf(first).verify(tokenOf(early))).toMatchObject({ companyId: 1, messageId: 2 })
    clock.set('2026-01-08T11:00:00Z')
    expect(signerOf(first).verify(tokenOf(early))).toBeUndefined()
  })

  test('a new key before the old one takes no address away; the old one removed does', () => {
    const token = tokenOf(signerOf(first).address(1, 2))
    expect(signerOf(second, first).verify(token)).toBeDefined()
    expect(signerOf(second).verify(token)).toBeUndefined()
    expect(signerOf(first).verify(tokenOf(signerOf(second, first).address(1, 2)))).toBeUndefined()
  })
})
