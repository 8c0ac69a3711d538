import { isReservedHeader, type StaticHeader } from '../../registrations/static-header.ts'
import type { Signer } from './sign.ts'

export type SignedDelivery = {
  registrationId: number
  event: string
  eventId: string
  body: Buffer
  headers: readonly StaticHeader[]
  signer: Signer | null
}

/** Builds the attempt's headers (spec: Delivery headers). Static headers can't replace ours, even after a rename. */
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

/** Provider ids can contain any character; headers only visible ASCII. */
const headerTextOf = (eventId: string): string => eventId.replace(/[^!-~]+/gu, encodeURIComponent)

/** Static headers can replace these. `identity` prevents decompression bombs. */
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
