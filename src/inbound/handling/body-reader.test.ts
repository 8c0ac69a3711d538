import { createHmac } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { constants, getPriority } from 'node:os'
import { expect, test } from 'vitest'
import type { InboundItem } from '../../providers/events/event-item.ts'
import { bodyReader, runBodyTask } from '../../wiring/events/body-reader.ts'
import { eventReader } from '../../wiring/events/event-reader.ts'
import { createBodyReader, type OpenedBody, type ProofInput, prove } from './body-reader.ts'
import { createBodyThread } from './body-thread.ts'

const NUMBER = '106540352242922'
/** Large enough to be read on a thread. */
const PADDING = 'x'.repeat(100_000)

const bodyOf = (value: object, field = 'messages'): string =>
  JSON.stringify({
    padding: PADDING,
    entry: [
      {
        id: '901',
        changes: [{ field, value: { metadata: { phone_number_id: NUMBER }, contacts: CONTACTS, ...value } }],
      },
    ],
  })
const CONTACTS = [{ wa_id: '393331111111', profile: { name: 'Ada' } }]
const message = (n: number, others: object = {}) => ({
  ...{ from: '393331111111', id: `wamid.${n}`, timestamp: '1760000000', type: 'text', text: { body: `è ${n}` } },
  ...others,
})
const messages = (count: number) => Array.from({ length: count }, (_, n) => message(n))

let lastId = 0
function eventOf(body: string | Buffer, others: { done?: number; part?: string } = {}) {
  lastId += 1
  return {
    ...{ lane: 1, id: lastId, part: NUMBER, others: [], body: Buffer.from(body), receivedAt: new Date(0), done: 0 },
    ...{ signature: null, secretMac: null, isChecked: true, needsProof: false, address: null },
    ...others,
  }
}

/** Reads every body on this thread. */
const here = {
  open: (event: ReturnType<typeof eventOf>, room: number) =>
    createBodyReader(
      { ...eventReader, parse: () => eventReader.parse(event.body) },
      createBodyThread(() => Promise.reject(new Error('The body is read here'))),
    ).open({ ...event, body: Buffer.alloc(1) }, room),
}

const factsOf = (opened: OpenedBody, withJson = true) => {
  if (opened.kind === 'unreadable') return opened
  const facts = (item: InboundItem) => ({ ...item, raw: withJson ? item.raw() : undefined })
  return {
    ...opened,
    taken: opened.taken.map((one) => ({ ...one, item: facts(one.item) })),
    unreadable: opened.unreadable.map((one) => ({ ...one, item: { ...one.item, raw: undefined } })),
  }
}

const BODIES: [what: string, body: string][] = [
  ['messages', bodyOf({ messages: messages(250) })],
  [
    'items that cannot be read among others',
    bodyOf({ messages: [message(1), 0, message(2, { id: 'x'.repeat(600) })] }),
  ],
  ['statuses of other kinds', bodyOf({ statuses: [{ id: 'wamid.1', status: 'read', recipient_id: '39333' }, {}] })],
  ['account events', bodyOf({ event: 'DISABLED_UPDATE', ban_info: { waba_ban_state: ['DISABLE'] } }, 'account_update')],
  ['too many items', bodyOf({ messages: messages(5_001) })],
  ['too many levels', `{"padding":"${PADDING}","a":${'['.repeat(100)}${']'.repeat(100)}}`],
  ['no JSON', PADDING],
]

test.each(BODIES)('a large body is read in the thread as it would be read here: %s', async (_what, body) => {
  for (const [room, done] of [
    [100, 0],
    [100, 200],
    [5_000, 0],
  ] as const) {
    const event = eventOf(body, { done })
    expect(event.body.length).toBeGreaterThan(64 * 1024)
    expect(factsOf(await bodyReader.open(event, room))).toEqual(factsOf(await here.open(event, room)))
  }
})

test('items of a large body are cut out together and one by one, as here', async () => {
  const event = eventOf(bodyOf({ messages: [...messages(150), 0] }))
  const opened = await bodyReader.open(event, 5_000)
  const own = await here.open(event, 5_000)
  if (opened.kind === 'unreadable' || own.kind === 'unreadable') throw new Error('The body can be read')
  const groupsOf = ({ taken, unreadable }: typeof opened) =>
    [taken.slice(0, 1), taken.slice(10), unreadable].map((group) => group.map(({ item }) => item))
  const texts = (await bodyReader.cut(event, groupsOf(opened))).map(String)
  expect(texts).toEqual(groupsOf(own).map(([first, ...others]) => first!.raw(others)))
  expect(texts[1]).toContain('"wamid.149"')
})

test('the ids of a large body are found in the thread as here; too many are none', async () => {
  const body = Buffer.from(bodyOf({ messages: messages(1) }))
  const bytes = Buffer.from(body)
  expect(await bodyReader.findIds(body)).toEqual({ body: bytes, ids: new Set([NUMBER]) })
  const many = Buffer.from(`{"entry":[${'{},'.repeat(50_000)}{}]}`)
  expect(await bodyReader.findIds(many)).toMatchObject({ ids: undefined })
})

test('a large body moves to the thread for its MACs and back, and is proven as here', async () => {
  const large = () => Buffer.from(PADDING)
  const signature = createHmac('sha256', 'app').update(large()).digest()
  const inputs: ProofInput[] = ['app', 'another'].flatMap((app) =>
    ['hook', 'another', undefined].map((secret) => ({
      credentials: { signature, secret },
      required: [{ of: 'number' as const, choices: [{ appSecret: app, webhookSecret: 'hook' }] }],
    })),
  )
  for (const input of inputs) {
    const body = large()
    const proven = bodyReader.prove(body, input)
    expect(proven).toBeInstanceOf(Promise)
    expect(await proven).toEqual({ body: large(), ...prove(large(), input) })
    expect(body).toHaveLength(0)
  }
})

test.skipIf(process.platform !== 'linux')('the thread has a lower priority than that of requests', async () => {
  await bodyReader.findIds(Buffer.from(PADDING))
  const priorities = readdirSync('/proc/self/task').map((id) => getPriority(Number(id)))
  expect(priorities).toContain(constants.priority.PRIORITY_BELOW_NORMAL)
})

test('a body that was lost with its thread is neither proven nor read', async () => {
  const reader = createBodyReader(
    eventReader,
    createBodyThread(async () => 'too-slow'),
  )
  const input = { credentials: { signature: null, secret: 'hook' }, required: [] }
  expect(await reader.findIds(Buffer.from(PADDING))).toBeUndefined()
  expect(await reader.prove(Buffer.from(PADDING), input)).toBeUndefined()
})

test('reading a body of a million values holds up no other work, nor does one with long numbers', async () => {
  for (const value of ['{},', '12345678901234567,']) {
    let turns = 0
    const timer = setInterval(() => {
      turns += 1
    }, 1)
    const body = `{"entry":[],"x":[${value.repeat(4_000_000 / value.length)}0]}`
    expect(await bodyReader.open(eventOf(body), 100)).toMatchObject({ kind: 'items', taken: [] })
    clearInterval(timer)
    expect(turns).toBeGreaterThan(10)
  }
})

test('a body that takes too long to read is unreadable', async () => {
  const reader = createBodyReader(
    eventReader,
    createBodyThread(async () => 'too-slow'),
  )
  const event = eventOf(bodyOf({ messages: messages(1) }))
  expect(await reader.open(event, 100)).toEqual({ kind: 'unreadable', reason: 'reading it takes too long' })
})

test('a large body is remembered while items of it are left, and in memory that is not copied again', async () => {
  const event = eventOf(bodyOf({ messages: messages(3) }))
  const [reader, small] = [createBodyReader(eventReader, createBodyThread(runBodyTask)), eventOf('{}')]
  reader.remember(event.id, event.body)
  reader.remember(small.id, small.body)
  expect([...reader.remembered().keys()]).toEqual([event.id])
  const body = reader.remembered().get(event.id)!
  expect(body.equals(event.body)).toBe(true)
  await reader.open({ ...event, body }, 2)
  expect(reader.remembered().get(event.id)?.buffer).toBe(body.buffer)
  await reader.open({ ...event, body, done: 2 }, 2)
  expect([...reader.remembered().keys()]).toEqual([])
})
