import { once } from 'node:events'
import { createConnection } from 'node:net'
import { createInterface } from 'node:readline'
import { describe, expect, test } from 'vitest'
import { freePort } from '../free-port.ts'
import { type Api, startMailing } from './email-world.ts'

const DOMAIN = 'bounces.example.org'
const SECRET = 'a secret of the reports'
/** Recipients that the mail server of return paths looks up in one session. */
const PER_SESSION = 20
const AT_ONCE = 20
const MARKETING = { category: 'MARKETING' }
const port = await freePort()
const mailing = await startMailing({
  bounceDomain: DOMAIN,
  bounceSmtpPort: port,
  bounceSmtpHost: '127.0.0.1',
  mailReportsSecret: SECRET,
})
const { createMailing, call, db, get, received, statsOf, untilCompleted, url } = mailing

/** A marketing mail with its tokens. */
async function mailed({ api, send }: { api: Api; send: (to: string) => ReturnType<Api> }, to: string) {
  await api('POST', '/contacts', { email: to, marketingConsent: { email: true } })
  const { id } = (await send(to)).body.data
  await untilCompleted(api, id)
  const [arrived] = await received(to)
  const token = (kind: 'o' | 'c' | 'u') => new RegExp(`/public/v1/${kind}/([\\w-]{44})`).exec(arrived.html)?.[1] ?? ''
  const report: string = arrived.envelope.from.slice('bounce+'.length).split('@')[0]
  return { id, to, api, o: token('o'), c: token('c'), u: token('u'), report }
}

/** Calls a few at a time: more would wait too long for the database of a busy machine. */
async function eachOf<T, R>(items: readonly T[], call: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let at = 0; at < items.length; at += AT_ONCE)
    results.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(call))))
  return results
}

const [own, other] = [await createMailing(MARKETING), await createMailing(MARKETING)]
const mail = await mailed(own, 'ada@example.com')
const sibling = await mailed(own, 'bruno@example.com')
const foreign = await mailed(other, 'ada@example.com')
const ALL = [mail, sibling, foreign]

/** Each bit of a token flipped, and the ids of one token under the digest of another. */
function forgeries(
  token: string,
  others: readonly string[],
  encoding: 'hex' | 'base64url',
  macBytes: number,
): string[] {
  const bytes = Buffer.from(token, encoding)
  const flipped = Array.from({ length: bytes.length * 8 }, (_, bit) => {
    const forged = Buffer.from(bytes)
    forged.writeUInt8(forged.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
    return forged
  })
  const swapped = others.flatMap((one) => {
    const second = Buffer.from(one, encoding)
    const ids = bytes.length - macBytes
    return [
      Buffer.concat([bytes.subarray(0, ids), second.subarray(ids)]),
      Buffer.concat([second.subarray(0, ids), bytes.subarray(ids)]),
    ]
  })
  const constant = [0x00, 0x7f, 0xff].map((byte) => Buffer.alloc(bytes.length, byte))
  return [...flipped, ...swapped, ...constant].map((forged) => forged.toString(encoding))
}

/** What a forgery could change, of all mails. */
async function states() {
  const rows = await db`
    select company_id, id, xmin, open_count, click_count, status from emails where company_id > 0 order by company_id, id
  `
  const suppressed = await db`select company_id from email_suppressions where company_id > 0`
  const consents = await Promise.all(
    ALL.map(async ({ api, to }) => (await api('GET', `/contacts/by-email/${to}`)).body.data.marketing_consent),
  )
  return { rows, suppressed, consents }
}

describe('addresses in mails', () => {
  const others = (kind: 'o' | 'c' | 'u') => [sibling[kind], foreign[kind]]
  const paths = (['o', 'c', 'u'] as const).flatMap((kind) => [
    ...forgeries(mail[kind], others(kind), 'base64url', 18).map((token) => `${kind}/${token}`),
    // A token of another use, and of a report about the mail.
    ...(['o', 'c', 'u'] as const).filter((one) => one !== kind).map((one) => `${kind}/${mail[one]}`),
    `${kind}/${Buffer.from(mail.report.padEnd(66, '0'), 'hex').toString('base64url')}`,
  ])

  test('of over 450 forged ones, each is 404 and changes nothing', async () => {
    expect(paths.length).toBeGreaterThan(450)
    const before = await states()
    const requests = paths.flatMap((path) =>
      (path.startsWith('u/') ? ['GET', 'POST'] : ['GET']).map((method) => ({ path, method })),
    )
    const answers = await eachOf(requests, async ({ path, method }) => {
      const answer = await get(`/public/v1/${path}`, { method })
      const { error } = Object(await answer.json())
      return [path, answer.status, answer.headers.get('location'), error.code]
    })
    expect(answers.filter(([, ...rest]) => rest.join() !== '404,,not_found')).toEqual([])
    expect(await states()).toEqual(before)
    // Control: the true ones do.
    const statuses = await Promise.all(
      (['o', 'c', 'u'] as const).map((kind) => get(`/public/v1/${kind}/${mail[kind]}`)),
    )
    expect(statuses.map(({ status }) => status)).toEqual([200, 302, 200])
    expect(await statsOf(own.api, mail.id)).toMatchObject({ opened: true })
  })
})

describe('return paths', () => {
  const tokens = [
    ...forgeries(mail.report, [sibling.report, foreign.report], 'hex', 12),
    ...(['o', 'c', 'u'] as const).map((kind) => Buffer.from(mail[kind], 'base64url').toString('hex', 0, 24)),
  ]
  const malformed = [mail.report.slice(1), `${mail.report}0`, `${mail.report} `, `${mail.report}+x`, "' or 1=1 --", '']

  test('of about 200 forged ones, each is refused in the same words, and changes nothing', async () => {
    const before = await states()
    const addresses = [...tokens, ...malformed].map((token) => `bounce+${token}@${DOMAIN}`)
    const answers: string[] = []
    for (let at = 0; at < addresses.length; at += PER_SESSION)
      answers.push(...(await nameRecipients(addresses.slice(at, at + PER_SESSION))))
    expect(answers).toHaveLength(addresses.length)
    const wellFormed = answers.slice(0, tokens.length)
    expect(new Set(wellFormed)).toEqual(new Set(['550 5.1.1 No such return path']))
    expect(answers.filter((answer) => !/^5\d\d /.test(answer))).toEqual([])
    expect(await states()).toEqual(before)
    // Control: the true one is taken, in capitals too.
    expect(await nameRecipients([`BOUNCE+${mail.report.toUpperCase()}@${DOMAIN}`])).toEqual(['250 Accepted'])
  })

  test('in posted reports: each forged one changes nothing', async () => {
    const before = await states()
    const authorization = `Basic ${Buffer.from(`parley:${SECRET}`).toString('base64')}`
    const statuses = await eachOf([...tokens, ...malformed], async (report) => {
      const body = { RecordType: 'Bounce', Type: 'HardBounce', Metadata: { report } }
      return (await call(url, 'POST', '/public/v1/webhooks/email/postmark', body, { authorization })).status
    })
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(await states()).toEqual(before)
  })
})

/** The answers to recipients of one session. */
async function nameRecipients(addresses: readonly string[]): Promise<string[]> {
  const socket = createConnection(port, '127.0.0.1')
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]()
  const say = async (command: string): Promise<string> => {
    socket.write(`${command}\r\n`)
    return String((await lines.next()).value)
  }
  await once(socket, 'connect')
  await lines.next()
  await say('HELO mx.example.com')
  await say('MAIL FROM:<>')
  const answers: string[] = []
  for (const address of addresses) answers.push(await say(`RCPT TO:<${address}>`))
  socket.destroy()
  return answers
}
