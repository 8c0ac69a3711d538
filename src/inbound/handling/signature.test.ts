import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { signedBodies } from '../../../test/providers/provider-bodies.ts'
import { eventReader } from '../../wiring/events/event-reader.ts'
import { createProof, isProven } from './body-reader.ts'

const signatureIn = (header: string | undefined) =>
  eventReader.signatureOf(header === undefined ? {} : { 'x-hub-signature-256': header })
const verify = (body: Buffer, signature: string | undefined, secret: string) =>
  isProven(body, createProof(body, { signature: signatureIn(signature), secret: undefined }), [
    [{ appSecret: secret, webhookSecret: null }],
  ])
const sign = (body: Buffer, secret: string) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`

describe('the signature of a posted body', () => {
  const body = Buffer.from('{"text":"\\u00e4 \\/ ok"}')

  it('is accepted over the exact bytes, with hex in any case', () => {
    const header = sign(body, 'hush')
    expect(verify(body, header, 'hush')).toBe(true)
    expect(verify(body, `sha256=${header.slice(7).toUpperCase()}`, 'hush')).toBe(true)
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
    expect(verify(body, header, 'hush')).toBe(false)
  })

  it('is refused when no secret is known', () => {
    expect(verify(body, sign(body, ''), '')).toBe(false)
  })

  it('never throws on any header', () => {
    fc.assert(fc.property(fc.string(), (header) => verify(body, `sha256=${header}`, 'hush') === false))
  })
})

describe('the secret that came with a body', () => {
  const body = Buffer.from('{}')
  const proves = (proof: string | undefined, secret: string, of = body) =>
    isProven(of, createProof(body, { signature: null, secret: proof }), [[{ appSecret: null, webhookSecret: secret }]])

  it('proves its own body alone, and only when it is the same', () => {
    expect(proves('a secret of ours', 'a secret of ours')).toBe(true)
    expect(proves('a secret of ours', 'a secret of theirs')).toBe(false)
    expect(proves('a secret of ours', 'a secret of ours', Buffer.from('{ }'))).toBe(false)
  })

  it.each([undefined, ''])('%j is none', (proof) => expect(proves(proof, '')).toBe(false))

  it('is needed beside the signature when both are asked for', () => {
    const required = [[{ appSecret: 'app', webhookSecret: 'hook' }]]
    const proof = (signature: string | undefined, secret: string | undefined) =>
      isProven(body, createProof(body, { signature: signatureIn(signature), secret }), required)
    expect(proof(sign(body, 'app'), 'hook')).toBe(true)
    expect(proof(sign(body, 'app'), undefined)).toBe(false)
    expect(proof(undefined, 'hook')).toBe(false)
  })
})

describe.skipIf(signedBodies.length === 0)('signed bodies as a provider sends them', () => {
  it.each(signedBodies)('$file is accepted as it is, and no other way', ({ body, secret, header }) => {
    expect(verify(body, header, secret)).toBe(true)
    for (let index = 0; index < body.length; index += 1) {
      const flipped = Buffer.from(body)
      flipped[index]! ^= 1
      expect(verify(flipped, header, secret)).toBe(false)
    }
    const again = Buffer.from(JSON.stringify(JSON.parse(body.toString())))
    expect(verify(again, header, secret)).toBe(false)
  })
})
