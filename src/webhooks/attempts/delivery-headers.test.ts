import { createHmac } from 'node:crypto'
import { validateHeaderValue } from 'node:http'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createSigner,
  deliveryHeaders,
  isReservedHeader,
  type SignedDelivery,
  staticHeaderFaults,
} from './delivery-headers.ts'

const at = new Date('2026-01-01T00:00:00.900Z')
const delivery: SignedDelivery = {
  registrationId: 7,
  event: 'whatsapp.message.received',
  eventId: 'wamid.A',
  body: Buffer.from('{"text":"héllo 👋"}'),
  headers: [],
  signer: null,
}

describe('signatures', () => {
  it('match the published example of Standard Webhooks', () => {
    // From the reference library.
    const headers = createSigner('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw').standardHeaders(
      'msg_p5jXN8AQM9LWM0D4loKWxJek',
      new Date(1614265330_000),
      Buffer.from('{"test": 2432232314}'),
    )
    expect(headers).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    })
  })

  it('match RFC 4231, test case 2, in hex', () => {
    expect(createSigner('Jefe').sign(Buffer.from('what do ya want for nothing?'))).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    )
  })

  it('take a secret that only looks like base64 as it is, never as an empty key', () => {
    const secret = 'whsec_!!!!!!!!!!!!'
    const expected = createHmac('sha256', secret).update('id.0.body').digest('base64')
    const headers = createSigner(secret).standardHeaders('id', new Date(0), Buffer.from('body'))
    expect(headers['webhook-signature']).toBe(`v1,${expected}`)
  })
})

describe('delivery headers', () => {
  it('name the event, the wamid and the registration, and no signature without a secret', () => {
    expect(deliveryHeaders('Service', delivery, at)).toEqual({
      'User-Agent': 'Service-Webhooks/1',
      'Accept-Encoding': 'identity',
      'Content-Type': 'application/json',
      'X-Service-Event': 'whatsapp.message.received',
      'X-Service-Delivery': 'wamid.A',
      'X-Service-Webhook-Id': '7',
    })
  })

  it('sign the exact bytes with both schemes when there is a secret', () => {
    const headers = deliveryHeaders('Acme', { ...delivery, signer: createSigner('a secret of 20 chars') }, at)
    expect(headers['X-Acme-Signature']).toBe(
      createHmac('sha256', 'a secret of 20 chars').update(delivery.body).digest('hex'),
    )
    expect(headers['webhook-id']).toBe('wamid.A')
    expect(headers['webhook-timestamp']).toBe('1767225600')
  })

  it('carry a wamid of any characters, percent-encoded outside visible ASCII', () => {
    const signer = createSigner('secret')
    const headersOf = (eventId: string) => deliveryHeaders('Service', { ...delivery, eventId, signer }, at)
    expect(headersOf('wamid.a b\uFFFDé\r\n')).toMatchObject({
      'X-Service-Delivery': 'wamid.a%20b%EF%BF%BD%C3%A9%0D%0A',
      'webhook-id': 'wamid.a%20b%EF%BF%BD%C3%A9%0D%0A',
    })
    expect(headersOf('wamid.HBgL/+=:%41')).toMatchObject({ 'webhook-id': 'wamid.HBgL/+=:%41' })
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (wamid) => {
        for (const [name, value] of Object.entries(headersOf(wamid))) {
          validateHeaderValue(name, value)
          expect(value).toBe(value.trim())
        }
      }),
    )
  })

  it('let static headers replace the user agent but nothing of ours', () => {
    const name = fc.constantFrom('Content-Type', 'X-Service-Event', 'x-service-signature', 'HOST', 'webhook-id')
    fc.assert(
      fc.property(name, (key) => {
        const headers = deliveryHeaders('Service', { ...delivery, headers: [{ key, value: 'forged' }] }, at)
        expect(Object.values(headers)).not.toContain('forged')
      }),
    )
    const headers = deliveryHeaders('Service', { ...delivery, headers: [{ key: 'user-agent', value: 'mine' }] }, at)
    expect(headers).toMatchObject({ 'user-agent': 'mine' })
    expect(headers).not.toHaveProperty('User-Agent')
  })
})

describe('static header rules', () => {
  const RESERVED = [
    ...['connection', 'content-encoding', 'content-length', 'content-type', 'expect', 'host', 'http2-settings'],
    ...['keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
    ...['transfer-encoding', 'upgrade', 'webhook-id', 'webhook-signature', 'webhook-timestamp', 'x-acme-anything'],
  ]
  it.each(RESERVED)('refuse %s', (name) => expect(isReservedHeader(name, 'Acme')).toBe(true))

  it('refuse reserved names in every spelling', () => {
    const reserved = fc.constantFrom(...RESERVED)
    const cased = reserved.chain((name) =>
      fc
        .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
        .map((ups) => [...name].map((letter, place) => (ups[place] ? letter.toUpperCase() : letter)).join('')),
    )
    fc.assert(fc.property(cased, (key) => isReservedHeader(key, 'Acme')))
    expect(isReservedHeader('X-Acmeish', 'Acme')).toBe(false)
    expect(isReservedHeader('Authorization', 'Acme')).toBe(false)
  })

  it('name each header that is reserved or comes twice', () => {
    const headers = [{ key: 'A', value: '' }, { key: 'Host', value: '' }, 7, { key: 'a', value: '' }]
    expect(staticHeaderFaults(headers, 'Acme').map(({ path }) => path)).toEqual(['headers[1].key', 'headers[3].key'])
  })
})
