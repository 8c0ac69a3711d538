import { createServer, type Server } from 'node:http'
import { type AddressInfo, isIP } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createReceiverClient, type ReceiverClient } from './post.ts'
import { guardedConnector, guardedLookup, isPublicAddress, isPublicHost, receiverUrlFault } from './receiver-address.ts'

const PRIVATE_V4 = [
  '0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.127.255.254', '127.0.0.1', '127.255.255.254',
  '169.254.169.254', '169.254.170.2', '172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.0.192', '192.0.2.1',
  '192.88.99.1', '192.168.1.1', '198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1',
  '239.255.255.255', '240.0.0.1', '255.255.255.255',
  // Cloud-internal: metadata, name servers and other services.
  '168.63.129.16', '100.100.100.200', '100.100.2.136', '169.254.0.23', '169.254.42.42', '169.254.169.253', '161.26.0.10',
  '166.8.0.1', '166.11.255.254', '199.36.153.4', '199.36.153.11',
] // biome-ignore format: a table
const PRIVATE_V6 = [
  '::', '::1', 'fc00::1', 'fd00:ec2::254', 'fd20:ce::254', 'fd00:42::42', 'fd00:a9fe:a9fe::1', 'fe80::1', 'fec0::1', 'ff02::1', '100::1', '2001:db8::1', '2001:2::1',
  '2001:10::1', '3fff::1', '5f00::1', '64:ff9b:1::808:808', '4000::1', '::127.0.0.1', '::ffff:0:127.0.0.1',
] // biome-ignore format: a table
const PUBLIC = [
  '8.8.8.8',
  '1.1.1.1',
  '93.184.215.14',
  '168.63.129.15',
  '166.7.255.255',
  '199.36.153.12',
  '2606:4700::1111',
  '2a00:1450::1',
  '::ffff:8.8.8.8',
  '64:ff9b::808:808',
  '2002:808:808::1',
  '2001:0:808:808::f7f7:f7f7',
]

const hex = (number: number, width = 0) => number.toString(16).padStart(width, '0')

/** One IPv4 address in every notation that some resolver or parser accepts. */
function notations(address: string): string[] {
  const [a, b, c, d] = address.split('.').map(Number) as [number, number, number, number]
  const number = ((a * 256 + b) * 256 + c) * 256 + d
  const high = hex(a * 256 + b)
  const low = hex(c * 256 + d)
  const wide = [...address].map((one) => (one === '.' ? '。' : String.fromCodePoint(0xff10 + Number(one)))).join('')
  const encoded = [...address].map((one) => `%${hex(one.charCodeAt(0), 2)}`).join('')
  return [
    address,
    `${address}.`,
    String(number),
    `0x${hex(number, 8)}`,
    `0X${hex(number, 8).toUpperCase()}`,
    `0${number.toString(8)}`,
    [a, b, c, d].map((one) => `0${one.toString(8)}`).join('.'),
    [a, b, c, d].map((one) => `0x${hex(one)}`).join('.'),
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    `0x${hex(a)}.${b}.0${c.toString(8)}.${d}`,
    `000${a.toString(8)}.${b}.${c}.${d}`,
    wide,
    encoded,
    `[::ffff:${address}]`,
    `[::FFFF:${high}:${low}]`,
    `[0:0:0:0:0:ffff:${high}:${low}]`,
    `[64:ff9b::${high}:${low}]`,
    `[2002:${high}:${low}::1]`,
    `[2001:0:${high}:${low}::1]`,
    `[2001:0:808:808:0:0:${hex((a * 256 + b) ^ 0xffff)}:${hex((c * 256 + d) ^ 0xffff)}]`,
  ]
}

const forms = [...PRIVATE_V4.flatMap(notations), ...PRIVATE_V6.map((one) => `[${one}]`), '127.1', '0', '[::1%25lo]']
const names = [
  'localhost',
  'LOCALHOST',
  'localhost.',
  'a.localhost',
  'printer.local',
  'metadata.google.internal',
  'a..b',
]

let server: Server
let port: number
let connections = 0
let client: ReceiverClient

beforeAll(async () => {
  server = createServer((_, response) => response.end('inside')).on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, resolve))
  port = (server.address() as AddressInfo).port
  client = createReceiverClient({ allowPrivate: false, resolve: async () => ['127.0.0.1'] })
})

afterAll(async () => {
  await client.close()
  server.close()
})

const post = (url: string, by = client) =>
  by.post({ url, method: 'POST', headers: {}, body: Buffer.from('{}'), timeoutMs: 60_000, registrationId: 1 })

describe('public addresses', () => {
  it.each(PUBLIC)('%s is one', (address) => expect(isPublicAddress(address)).toBe(true))
  it.each([...PRIVATE_V4, ...PRIVATE_V6])('%s is none', (address) => expect(isPublicAddress(address)).toBe(false))

  it('are none of the private ranges, however deep inside IPv6', () => {
    const inPrivate = fc
      .constantFrom([10, 8], [127, 8], [0, 8])
      .chain(([first]) =>
        fc.tuple(fc.constant(first as number), fc.nat(255), fc.nat(255), fc.nat(255)).map((bytes) => bytes.join('.')),
      )
    fc.assert(
      fc.property(inPrivate, (address) => {
        for (const form of notations(address)) {
          const host = URL.parse(`https://${form}/`)?.hostname
          expect(host === undefined || !isPublicHost(host), form).toBe(true)
        }
      }),
    )
  })
})

describe('the address guard', () => {
  it('connects to no private address in any of more than 500 notations', async () => {
    expect(forms.length).toBeGreaterThan(500)
    connections = 0
    for (const host of [...forms, ...names]) {
      const outcome = await post(`https://${host}:${port}/`)
      expect(['blocked', 'unreachable'], host).toContain(outcome.kind)
      if (URL.canParse(`https://${host}:${port}/`)) expect(outcome.kind, host).toBe('blocked')
      expect(outcome.errorMessage, host).not.toMatch(/\d+\.\d+\.\d+|::/)
      expect(receiverUrlFault(`https://${host}/`, { allowPrivate: false }), host).toBeDefined()
    }
    expect(connections).toBe(0)
  })

  it('refuses a name when any one of its addresses is private, whatever the order', async () => {
    const addresses = [...PRIVATE_V4, ...PRIVATE_V6, '::ffff:7f00:1']
    const answers = addresses.flatMap((one) => [[one], ['8.8.8.8', one], [one, '2606:4700::1111']])
    const resolve = async (name: string) => answers[Number(name.split('.')[0])] ?? []
    const guarded = createReceiverClient({ allowPrivate: false, resolve })
    for (const at of answers.keys()) {
      const outcome = await post(`https://${at}.example:${port}/`, guarded)
      const blocked = { kind: 'blocked', errorMessage: "the receiver's address is not public" }
      expect(outcome, answers[at]?.join()).toMatchObject(blocked)
    }
    await guarded.close()
    expect(connections).toBe(0)
  })

  it('resolves a name once per connection, so that it cannot change its answer in between', async () => {
    let asked = 0
    const answers: string[] = []
    const resolve = async () => {
      asked += 1
      const address = asked === 1 ? '192.0.2.1' : '127.0.0.1'
      answers.push(address)
      return [address]
    }
    const guarded = createReceiverClient({ allowPrivate: false, resolve })
    expect((await post(`https://rebind.example:${port}/`, guarded)).kind).toBe('blocked')
    expect((await post(`https://rebind.example:${port}/`, guarded)).kind).toBe('blocked')
    expect(answers).toEqual(['192.0.2.1', '127.0.0.1'])
    expect(connections).toBe(0)
    await guarded.close()
  })

  it('gives the socket exactly the addresses that it has checked', async () => {
    const lookup = guardedLookup(async () => ['8.8.8.8', '2606:4700::1111'])
    const resolved = await new Promise((resolve) =>
      lookup('a.example', { all: true }, (_, addresses) => resolve(addresses)),
    )
    expect(resolved).toEqual([
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700::1111', family: 6 },
    ])
    const first = await new Promise((resolve) => lookup('a.example', {}, (_, address) => resolve(address)))
    expect(isIP(String(first))).toBe(4)
  })

  it('refuses literal addresses in the connector itself, where no lookup sees them', async () => {
    const connect = guardedConnector({ allowPrivate: false, connectTimeoutMs: 1_000 })
    const error = await new Promise((resolve) =>
      connect({ hostname: '127.0.0.1', host: '127.0.0.1', protocol: 'http:', port: String(port) }, (...[error]) =>
        resolve(error),
      ),
    )
    expect(error).toMatchObject({ code: 'ADDRESS_NOT_PUBLIC' })
    expect(connections).toBe(0)
  })

  it('sends nothing over plain http', async () => {
    let asked = 0
    const resolve = () => {
      asked += 1
      return Promise.reject(new Error('not to be asked'))
    }
    const guarded = createReceiverClient({ allowPrivate: false, resolve })
    expect((await post('http://receiver.example/', guarded)).kind).toBe('blocked')
    expect(asked).toBe(0)
    await guarded.close()
  })

  it('lets everything through when private addresses are allowed', async () => {
    const open = createReceiverClient({ allowPrivate: true })
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '2130706433']) {
      expect(await post(`http://${host}:${port}/`, open)).toMatchObject({ kind: 'delivered', response: 'inside' })
    }
    await open.close()
  })

  it('says so when a name does not exist', async () => {
    const failing = createReceiverClient({
      allowPrivate: false,
      resolve: () =>
        Promise.reject(Object.assign(new Error('queryA ENOTFOUND 10.0.0.2'), { code: 'ENOTFOUND', syscall: 'queryA' })),
    })
    expect(await post('https://gone.example/', failing)).toMatchObject({
      kind: 'unreachable',
      errorMessage: "the receiver's name could not be resolved (ENOTFOUND)",
    })
    await failing.close()
  })
})

describe('receiver URLs', () => {
  const strict = { allowPrivate: false }

  it.each([
    'https://example.com', 'https://hooks.example.com:8443/a/b?c=d', 'HTTPS://EXAMPLE.com/', 'https://8.8.8.8/x',
    'https://[2606:4700::1111]/', 'https://bücher.example/', 'https://localhost.example.com/', 'https://mylocal/',
  ])('%s is accepted', (url) => expect(receiverUrlFault(url, strict)).toBeUndefined()) // biome-ignore format: a table

  it.each([
    'http://example.com/', 'ftp://example.com/', 'example.com', '', 'https://', 'https://user@example.com/',
    'https://user:pass@example.com/', 'https://:pass@example.com', 'https://example.com/#part', 'https://example.com/#',
    'https://exa mple.com/', 'https://example.com/\n', '\thttps://example.com/', 'https:\\\\example.com', 'https://a..b/',
    'javascript:alert(1)', 'https://example.com:99999/',
  ])('%j is refused', (url) => expect(receiverUrlFault(url, strict)).toBeTypeOf('string')) // biome-ignore format: a table

  it('allow plain http and private addresses for local work only', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('http', 'https'),
        fc.constantFrom('localhost:3001', '127.0.0.1', '[::1]:8080'),
        (scheme, host) => {
          expect(receiverUrlFault(`${scheme}://${host}/`, { allowPrivate: true })).toBeUndefined()
          expect(receiverUrlFault(`${scheme}://${host}/`, strict)).toBeDefined()
        },
      ),
    )
  })

  it('never throw, whatever the text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void receiverUrlFault(`https://${text}`, strict)))
  })
})
