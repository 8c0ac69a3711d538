import type { DeliveryDetails, Registration } from '../../../client/src/generated/schemas.ts'

/** The request of a delivery as a line for a shell. Values of static headers are not known here and stand as `…`. */
export function curlLine({ method, url }: Registration, { payload, requestHeaders }: DeliveryDetails): string {
  const headers = Object.entries(requestHeaders).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`)
  return ['curl -X', method, quoted(url), ...headers, '--data-raw', quoted(payload)].join(' ')
}

/** A word of a POSIX shell: within single quotes only these have a meaning. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
