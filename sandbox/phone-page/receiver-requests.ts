import { createHmac, timingSafeEqual } from 'node:crypto'
import type { KeptRequest } from '../receivers/receiver.ts'
import { DEMO_RECEIVER } from '../world/demo.ts'
import type { World } from '../world/world.ts'

const REQUESTS = 30

/** The newest requests of a receiver. The demo's own receiver knows its secret and checks the signatures. */
export function checkedRequests(world: World, name: string) {
  const { requests, behaviour } = world.receivers.get(name)
  return {
    statusCode: behaviour.statusCode,
    requests: requests.newest(REQUESTS).map(({ method, headers, body, at }) => ({
      method,
      headers,
      body,
      at: at.toISOString(),
      signature: signatureOf(name, { headers, body }),
    })),
  }
}

/** Whether the signature is that of the body; null when this receiver does not know the secret. */
function signatureOf(name: string, { headers, body }: Pick<KeptRequest, 'headers' | 'body'>) {
  const header = Object.keys(headers).find((one) => /^x-.+-signature$/.test(one))
  const value = header && headers[header]
  if (header === undefined || typeof value !== 'string') return null
  const expected = createHmac('sha256', DEMO_RECEIVER.secret).update(body).digest('hex')
  const isValid = value.length === expected.length && timingSafeEqual(Buffer.from(value), Buffer.from(expected))
  return { header, value, isValid: name === DEMO_RECEIVER.name ? isValid : null }
}
