import ipaddr from 'ipaddr.js'

const LOCAL_NAMES = ['localhost', 'local', 'internal', 'localdomain', 'home.arpa']
const LOCAL_NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b:1::/48')
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')
/** Public ranges that clouds use internally; their other internal ranges are link-local or private. */
const CLOUD_INTERNAL = [
  '168.63.129.16/32', // Azure: platform services of a virtual machine
  '161.26.0.0/16', // IBM Cloud: services of the private network
  '166.8.0.0/14', // IBM Cloud: private endpoints of cloud services
  '199.36.153.4/30', // Google Cloud: restricted.googleapis.com
  '199.36.153.8/30', // Google Cloud: private.googleapis.com
].map((range) => ipaddr.IPv4.parseCIDR(range))

/** Returns whether an address is on the public internet. Embedded IPv4 addresses (IPv4-mapped, NAT64, 6to4, Teredo) decide. */
export function isPublicAddress(text: string): boolean {
  const literal = text.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '')
  if (!ipaddr.isValid(literal)) return false
  const address = ipaddr.parse(literal)
  if (address instanceof ipaddr.IPv4) return isPublicV4(address)
  const carried = carriedAddresses(address)
  if (carried !== undefined) return carried.every(isPublicV4)
  return address.match(GLOBAL_UNICAST) && address.range() === 'unicast'
}

const isPublicV4 = (address: ipaddr.IPv4): boolean =>
  address.range() === 'unicast' && !CLOUD_INTERNAL.some((range) => address.match(range))

function carriedAddresses(address: ipaddr.IPv6): ipaddr.IPv4[] | undefined {
  const bytes = address.toByteArray()
  const at = (start: number, mask = 0) => new ipaddr.IPv4(bytes.slice(start, start + 4).map((byte) => byte ^ mask))
  switch (address.range()) {
    case 'ipv4Mapped':
      return [at(12)]
    case 'rfc6052':
      // Under the local-use prefix 64:ff9b:1::/48, the operator chooses the position: never public.
      return address.match(LOCAL_NAT64) ? undefined : [at(12)]
    case '6to4':
      return [at(2)]
    case 'teredo':
      return [at(4), at(12, 0xff)]
    default:
      return undefined
  }
}

export function isPublicName(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '')
  const labels = name.split('.')
  if (name === '' || name.length > 253 || labels.some((label) => label === '' || label.length > 63)) return false
  return !LOCAL_NAMES.some((local) => name === local || name.endsWith(`.${local}`))
}
