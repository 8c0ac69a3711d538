import ipaddr from 'ipaddr.js'

/** Names that never lead to a public receiver, whatever a resolver answers. */
const LOCAL_NAMES = ['localhost', 'local', 'internal', 'localdomain', 'home.arpa']
const LOCAL_NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b:1::/48')
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Whether an address is one of the public internet. Addresses that carry another one inside (IPv4-mapped, NAT64, 6to4,
 * Teredo) are as public as what they carry. Text that is no address is not public.
 */
export function isPublicAddress(text: string): boolean {
  const literal = text.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '')
  if (!ipaddr.isValid(literal)) return false
  const address = ipaddr.parse(literal)
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast'
  const carried = carriedAddresses(address)
  if (carried !== undefined) return carried.every((one) => one.range() === 'unicast')
  return address.match(GLOBAL_UNICAST) && address.range() === 'unicast'
}

/** The IPv4 addresses inside an IPv6 address; undefined where it carries none. */
function carriedAddresses(address: ipaddr.IPv6): ipaddr.IPv4[] | undefined {
  const bytes = address.toByteArray()
  const at = (start: number, mask = 0) => new ipaddr.IPv4(bytes.slice(start, start + 4).map((byte) => byte ^ mask))
  switch (address.range()) {
    case 'ipv4Mapped':
      return [at(12)]
    case 'rfc6052':
      // Under the local-use prefix 64:ff9b:1::/48 where the address stands is the operator's choice: never public.
      return address.match(LOCAL_NAT64) ? undefined : [at(12)]
    case '6to4':
      return [at(2)]
    case 'teredo':
      return [at(4), at(12, 0xff)]
    default:
      return undefined
  }
}

/** Whether a host name may be looked up at all. */
export function isPublicName(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '')
  const labels = name.split('.')
  if (name === '' || name.length > 253 || labels.some((label) => label === '' || label.length > 63)) return false
  return !LOCAL_NAMES.some((local) => name === local || name.endsWith(`.${local}`))
}
