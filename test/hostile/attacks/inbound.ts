import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Client, createClient } from '../client.ts'
import type { Tally } from '../tally.ts'
import { untilFound, untilHandled } from '../until-found.ts'
import { inboundText, type World } from '../world.ts'

const WEBHOOK = '/public/v1/webhooks/whatsapp'
/** Log lines that one request may write, whatever its body holds. */
const LINES_PER_BODY = 4
/** Rows that all bodies together may leave: the budget of one address in an hour (docs/security.md). */
const MOST_ROWS = 12_000

const change = (value: unknown, field = 'messages') => ({
  object: 'whatsapp_business_account',
  entry: [{ id: '1', changes: [{ field, value }] }],
})
const message = (over: object = {}) => ({
  from: '393331111111',
  id: `wamid.${randomBytes(12).toString('hex')}`,
  timestamp: '1760000000',
  type: 'text',
  text: { body: 'x' },
  ...over,
})
const about = (phoneNumberId: unknown, members: object) =>
  change({ messaging_product: 'whatsapp', metadata: { phone_number_id: phoneNumberId }, ...members })
const long = (length: number) => randomBytes(length).toString('base64').slice(0, length)
const many = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n))

/** Bodies of an attacker who knows the address and one connected number. */
const BODIES: { name: string; build: (number: string) => string }[] = [
  { name: 'a number id of 5,000 characters', build: () => json(about(long(5_000), { messages: [message()] })) },
  {
    name: 'an account id of 5,000 characters',
    build: () =>
      json({
        ...about('1', {}),
        entry: [
          { id: long(5_000), changes: [{ field: 'message_template_status_update', value: { event: 'APPROVED' } }] },
        ],
      }),
  },
  {
    name: 'an app id of 5,000 characters',
    build: () => json({ ...about(long(200), { messages: [message()] }), gs_app_id: long(5_000) }),
  },
  {
    name: 'a wamid of 5,000 characters',
    build: (number) => json(about(number, { messages: [message({ id: long(5_000) })] })),
  },
  {
    name: 'a writer of 5,000 characters',
    build: (number) => json(about(number, { messages: [message({ from: long(5_000) })] })),
  },
  {
    name: 'a name of a megabyte',
    build: (number) =>
      json(
        about(number, {
          contacts: [{ wa_id: '393331111111', profile: { name: long(1_000_000) } }],
          messages: [message()],
        }),
      ),
  },
  {
    name: 'a text of a megabyte',
    build: (number) => json(about(number, { messages: [message({ text: { body: long(1_000_000) } })] })),
  },
  {
    name: 'NUL and lone surrogates',
    build: (number) => json(about(number, { messages: [message({ text: { body: 'a\u0000\ud800' } })] })),
  },
  {
    name: 'a time beyond all times',
    build: (number) => json(about(number, { messages: [message({ timestamp: '9'.repeat(400) })] })),
  },
  {
    name: '950 bad items for a known number',
    build: (number) => json(about(number, { messages: many(950, () => message({ id: long(4_000) })) })),
  },
  {
    name: '39,000 items for an unknown number',
    build: () => json(about('404', { padding: 'x'.repeat(4_000), messages: many(39_000, (n) => ({ id: `w${n}` })) })),
  },
  { name: '40,000 zeros as statuses', build: (number) => json(about(number, { statuses: many(40_000, () => 0) })) },
  { name: 'depth of 100,000', build: () => `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}` },
  {
    name: 'two thousand entries',
    build: (number) => json({ object: 'x', entry: many(2_000, () => about(number, { statuses: [{}] }).entry[0]) }),
  },
  {
    name: 'members of the prototype',
    build: (number) =>
      `{"__proto__":{"a":1},"entry":[{"id":"1","changes":[{"field":"constructor","value":{"metadata":{"phone_number_id":"${number}"}}}]}]}`,
  },
  { name: 'a million values', build: () => `{"x":[[${'{},'.repeat(1_000_000)}0]]}` },
  { name: '300,000 names', build: () => `{"x":{${many(300_000, (n) => `"${n}":1`).join()}}}` },
  { name: 'no JSON', build: () => '\u0000\u0001{' },
  { name: 'a list', build: () => '[[]]' },
]
const json = (body: unknown): string => JSON.stringify(body)

/**
 * Makes the attack: it posts hostile bodies from an address of its own; after each, a customer writes to a connected number
 * from another address. It counts messages that did not come, answers other than those of the contract, and what the bodies
 * left.
 */
export function createInboundAttack(world: World, tally: Tally): (round: number) => Promise<void> {
  const bodies = BODIES.map(({ name, build }) => ({ name, body: Buffer.from(build(world.own.phoneNumberId)) }))
  return async (round) => {
    const attacker = createClient(world.stage.url, `127.0.2.${1 + round}`)
    const provider = createClient(world.stage.url, '127.0.0.3')
    const before = { lines: await countLines(world), rows: await countRows(world) }
    for (const { name, body } of bodies) {
      tally.requests++
      const headers = { 'content-type': 'application/json' }
      const answer = await attacker.send({ method: 'post', path: WEBHOOK, headers, body }).catch(() => undefined)
      if (answer === undefined) tally.add('connections without an answer', name)
      else if (![200, 413, 429].includes(answer.status)) {
        tally.add('answers with status 5xx', `${name}: ${answer.status}`)
      }
      if (!(await arrives(world, provider))) {
        tally.add('others delayed by a hostile body', `${name}: a good message was not recorded`)
      }
    }
    await untilHandled(world.stage.db)
    const lines = (await countLines(world)) - before.lines
    const most = BODIES.length * LINES_PER_BODY
    if (lines > most) tally.add('log lines or rows beyond the bound', `${lines} log lines, at most ${most}`)
    const rows = (await countRows(world)) - before.rows
    if (rows > MOST_ROWS) tally.add('log lines or rows beyond the bound', `${rows} rows, at most ${MOST_ROWS}`)
    await attacker.close()
    await provider.close()
  }
}

async function countRows({ stage }: World): Promise<number> {
  const [row] = await stage.db<{ count: number }[]>`select count(*) from inbound_items`
  return row?.count ?? 0
}

/** Whether a good message gets from its event to the list of conversations. */
async function arrives(world: World, provider: Client): Promise<boolean> {
  const text = `good-${randomBytes(6).toString('hex')}`
  const body = json(inboundText(world.own.phoneNumberId, '393331234567', text, `wamid.${text}`))
  await provider.send({ method: 'post', path: WEBHOOK, headers: { 'content-type': 'application/json' }, body })
  const headers = { authorization: `Bearer ${world.own.keys.all}` }
  const found = await untilFound(async () => {
    const { text: list } = await provider.send({ method: 'get', path: '/public/v1/whatsapp/conversations', headers })
    return list.includes(text) || undefined
  })
  return found === true
}

/**
 * Lines in addition to the one of each request, which the bound of requests bounds too, and of each attempt at a receiver: the
 * longer the attack takes, the more attempts are repeated meanwhile.
 */
async function countLines({ stage }: World): Promise<number> {
  const lines = (await readFile(join(stage.folder, 'service.log'), 'utf8')).split('\n')
  return lines.filter((line) => !/"msg":"(request.answered|delivery.attempted)"/.test(line)).length
}
