import { expect, test } from 'vitest'
import { COUNTERS, type Counter, count, total } from './counters.ts'
import type { Evidence } from './evidence.ts'

/** Two customers of one number with two messages each, two registrations, two sends and two mails: all as it should be. */
function faultless(): Evidence {
  const acknowledged = ['a1', 'b1', 'a2', 'b2'].map((wamid) => ({
    wamid,
    customer: wamid.startsWith('a') ? '391' : '392',
    phoneNumberId: 'n',
    text: `text of ${wamid}`,
  }))
  const keyed = (text: string, recipient: string) => ({
    text,
    recipient,
    outcome: 'acknowledged' as const,
    ids: [text, text],
    answers: ['200 '],
  })
  return {
    acknowledged,
    posted: new Set(acknowledged.map(({ wamid }) => wamid)),
    stored: acknowledged.map((one) => ({ ...one, conversationId: Number(one.customer), seq: Number(one.wamid[1]) })),
    failed: new Set(['poison']),
    registrations: new Map([['n', ['r1', 'r2']]]),
    delivered: acknowledged.flatMap(({ wamid, customer, text }) =>
      ['r1', 'r2'].map((registrationId) => ({ registrationId, wamid, body: bodyOf(customer, text) })),
    ),
    sends: [keyed('s1', '391'), { ...keyed('s2', '392'), outcome: 'unknown' }],
    scheduled: [keyed('t1', '391'), keyed('t2', '392')],
    unknownScheduled: new Set(['t2']),
    phones: [
      { text: 's1', recipient: '391' },
      { text: 't1', recipient: '391' },
    ],
    mails: [keyed('m1', 'a@x'), keyed('m2', 'b@x')],
    mailboxes: [{ text: 'm1', recipient: 'a@x' }],
    unknownMails: new Set(['m2']),
    lostWrites: 0,
    crashes: [],
    gapsMs: [5_000],
    bounds: { dead: 1, unknownSends: 1, unknownScheduled: 1, failedMails: 1, gapMs: 6_000 },
  }
}

const bodyOf = (phone: string, text: string): string => JSON.stringify({ phone, message: { text } })

const plants: Record<Counter, (evidence: Evidence) => unknown> = {
  'messages lost': ({ stored }) => stored.splice(1, 1),
  'messages doubled': ({ stored }) => stored.push({ ...stored[3]!, seq: 3 }),
  'messages kept as failed': ({ failed }) => failed.add('a1'),
  'messages of the wrong person': ({ stored }) => Object.assign(stored[0]!, { customer: '392' }),
  'messages out of order': ({ stored }) => Object.assign(stored[0]!, { seq: 3 }),
  'messages that were not posted': ({ stored }) => stored.push({ ...stored[3]!, wamid: 'b3', seq: 3 }),
  'messages with another text': ({ stored }) => Object.assign(stored[0]!, { text: 'other' }),
  'deliveries neither answered 2xx nor dead': ({ delivered }) => delivered.pop(),
  'deliveries of the wrong person': ({ delivered }) =>
    Object.assign(delivered[0]!, { body: bodyOf('392', 'text of a1') }),
  'deliveries to a foreign registration': ({ delivered }) => delivered.push({ ...delivered[0]!, registrationId: 'r9' }),
  'deliveries of messages that were not posted': ({ delivered }) => delivered.push({ ...delivered[0]!, wamid: 'a9' }),
  'deliveries with another text': ({ delivered }) => Object.assign(delivered[0]!, { body: bodyOf('391', 'other') }),
  'deliveries repeated too often': ({ delivered }) => delivered.push(...Array(4).fill(delivered[0])),
  'dead deliveries beyond the bound': ({ delivered }) => {
    for (const one of delivered.slice(0, 2)) one.body = null
  },
  'sends lost': ({ phones }) => phones.shift(),
  'sends doubled': ({ phones }) => phones.push(phones[0]!),
  'sends to the wrong person': ({ phones }) => Object.assign(phones[0]!, { recipient: '392' }),
  'scheduled messages lost': ({ phones }) => phones.pop(),
  'scheduled messages doubled': ({ phones }) => phones.push(phones[1]!),
  'mails lost': ({ unknownMails }) => unknownMails.clear(),
  'mails doubled': ({ mailboxes }) => mailboxes.push(mailboxes[0]!),
  'mails to the wrong person': ({ mailboxes }) => Object.assign(mailboxes[0]!, { recipient: 'b@x' }),
  'keys with two effects': ({ sends }) => sends[0]!.ids.push('s9'),
  'keyed requests without an outcome': ({ sends }) => Object.assign(sends[1]!, { outcome: 'unanswered' }),
  'unknown sends beyond the bound': ({ sends }) => Object.assign(sends[0]!, { outcome: 'unknown' }),
  'unknown scheduled messages beyond the bound': ({ unknownScheduled }) => unknownScheduled.add('t1'),
  'failed mails beyond the bound': ({ unknownMails }) => unknownMails.add('m1'),
  'promotions with a gap beyond the bound': ({ gapsMs }) => gapsMs.push(6_001),
  'writes accepted by a fenced leader': (evidence) => {
    evidence.lostWrites = 1
  },
  'processes that crashed by themselves': ({ crashes }) => crashes.push('parley.crashed'),
}

test('evidence without a fault counts nothing', () => {
  expect(total(count(faultless()))).toBe(0)
})

test('a message whose id the service derived, since its item had none, counts nothing', () => {
  const evidence = faultless()
  evidence.stored.push({ ...evidence.stored[3]!, wamid: 'sha256.b3', seq: 3 })
  evidence.delivered.push({ ...evidence.delivered[0]!, wamid: 'sha256.b3' })
  expect(total(count(evidence))).toBe(0)
})

test.each(COUNTERS)('a planted fault raises the counter "%s", and no other', (counter) => {
  const evidence = faultless()
  plants[counter](evidence)
  expect(count(evidence)).toEqual({ ...count(faultless()), [counter]: 1 })
})
