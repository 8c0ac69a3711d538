import { isReservedHeader, type StaticHeader } from '../../registrations/static-header.ts'
import type { Signer } from './sign.ts'

export type SignedDelivery = {
  registrationId: number
  event: string
  eventId: string
  /** The bytes that are sent. */
  body: Buffer
  headers: readonly StaticHeader[]
  /** Null: the delivery is not signed. */
  signer: Signer | null
}

/**
 * Every header of one attempt (spec: Delivery headers). Static headers never displace ours, not even those that were
 * accepted under another SERVICE_NAME.
 */
export function deliveryHeaders(serviceName: string, delivery: SignedDelivery, at: Date): Record<string, string> {
  const id = headerTextOf(delivery.eventId)
  const own: Record<string, string> = {
    'Content-Type': 'application/json',
    [`X-${serviceName}-Event`]: delivery.event,
    [`X-${serviceName}-Delivery`]: id,
    [`X-${serviceName}-Webhook-Id`]: String(delivery.registrationId),
    ...signatures(serviceName, delivery, id, at),
  }
  const chosen = delivery.headers.filter(({ key }) => !isReservedHeader(key, serviceName))
  return {
    ...defaults(serviceName, chosen),
    ...Object.fromEntries(chosen.map(({ key, value }) => [key, value])),
    ...own,
  }
}

/** A header takes visible ASCII; a provider's id may hold anything. Other characters are percent-encoded. */
const headerTextOf = (eventId: string): string => eventId.replace(/[^!-~]+/gu, encodeURIComponent)

/** Headers that a static header may replace. Without compression an answer cannot be a decompression bomb. */
function defaults(serviceName: string, chosen: readonly StaticHeader[]): Record<string, string> {
  const names = new Set(chosen.map(({ key }) => key.toLowerCase()))
  return {
    ...(!names.has('user-agent') && { 'User-Agent': `${serviceName}-Webhooks/1` }),
    ...(!names.has('accept-encoding') && { 'Accept-Encoding': 'identity' }),
  }
}

function signatures(
  serviceName: string,
  { signer, body }: SignedDelivery,
  id: string,
  at: Date,
): Record<string, string> {
  if (signer === null) return {}
  return { [`X-${serviceName}-Signature`]: signer.sign(body), ...signer.standardHeaders(id, at, body) }
}
