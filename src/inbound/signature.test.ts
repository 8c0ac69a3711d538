import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { signedBodies } from '../../test/provider-bodies.ts'
import { verifyHubSignature } from './signature.ts'

const sign = (body: Buffer, secret: string) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`

describe('the signature of a posted body', () => {
  const body = Buffer.from('{"text":"\\u00e4 \\/ ok"}')

  it('is accepted over the exact bytes, with hex in any case', () => {
    const header = sign(body, 'hush')
    expect(verifyHubSignature(body, header, 'hush')).toBe(true)
    expect(verifyHubSignature(body, `sha256=${header.slice(7).toUpperCase()}`, 'hush')).toBe(true)
  })

  it.each([
    ['absent', undefined],
    ['empty', ''],
    ['of the old algorithm', `sha1=${'0'.repeat(40)}`],
    ['too short', sign(body, 'hush').slice(0, -2)],
    ['too long', `${sign(body, 'hush')}00`],
    ['not hex', `sha256=${'g'.repeat(64)}`],
    ['bare', sign(body, 'hush').slice(7)],
    ["another secret's", sign(body, 'hash')],
  ])('is refused when the header is %s', (_what, header) => {
    expect(verifyHubSignature(body, header, 'hush')).toBe(false)
  })

  it('is refused when no secret is known', () => {
    expect(verifyHubSignature(body, sign(body, ''), '')).toBe(false)
  })

  it('never throws on any header', () => {
    fc.assert(fc.property(fc.string(), (header) => verifyHubSignature(body, `sha256=${header}`, 'hush') === false))
  })
})

describe.skipIf(signedBodies.length === 0)('signed bodies as a provider sends them', () => {
  it.each(signedBodies)('$file is accepted as it is, and no other way', ({ body, secret, header }) => {
    expect(verifyHubSignature(body, header, secret)).toBe(true)
    for (let index = 0; index < body.length; index += 1) {
      const flipped = Buffer.from(body)
      flipped[index]! ^= 1
      expect(verifyHubSignature(flipped, header, secret)).toBe(false)
    }
    const again = Buffer.from(JSON.stringify(JSON.parse(body.toString())))
    expect(verifyHubSignature(again, header, secret)).toBe(false)
  })
})
