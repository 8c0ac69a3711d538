import { expect, test } from 'vitest'
import { COUNTERS, type Counter, count, total } from './counters.ts'
import type { Evidence } from './evidence.ts'

/** Two customers of one number with two messages each, two registrations, two sends and two mails: all as it should be. */
function faultless(): Evidence {
  const heard = ['a1', 'b1', 'a2', 'b2'].map((wamid) => ({
    wamid,
    customer: wamid.startsWith('a') ? '391' : '392',
    phoneNumberId: 'n',
  }))
  const keyed = (text: string, recipient: string) => ({
    text,
    recipient,
    outcome: 'acknowledged' as const,
    ids: [text, text],
    answers: ['200 '],
  })
  return {
    heard,
    stored: heard.map((one) => ({ ...one, conversationId: Number(one.customer), seq: Number(one.wamid[1]) })),
    registrations: new Map([['n', ['r1', 'r2']]]),
    delivered: heard.flatMap(({ wamid, customer }) =>
      ['r1', 'r2'].map((registrationId) => ({ registrationId, wamid, body: `{"phone":"${customer}"}` })),
    ),
    sends: [keyed('s1', '391'), { ...keyed('s2', '392'), outcome: 'unknown' }],
    phones: [{ text: 's1', recipient: '391' }],
    mails: [keyed('m1', 'a@x'), keyed('m2', 'b@x')],
    mailboxes: [{ text: 'm1', recipient: 'a@x' }],
    unknownMails: new Set(['m2']),
    crashes: [],
  }
}

const plants: Record<Counter, (evidence: Evidence) => unknown> = {
  'messages lost': ({ stored }) => stored.splice(1, 1),
  'messages doubled': ({ stored }) => stored.push({ ...stored[3]!, seq: 3 }),
  'messages of the wrong person': ({ stored }) => Object.assign(stored[0]!, { customer: '392' }),
  'messages out of order': ({ stored }) => Object.assign(stored[0]!, { seq: 3 }),
  'deliveries neither answered 2xx nor dead': ({ delivered }) => delivered.pop(),
  'deliveries of the wrong person': ({ delivered }) => Object.assign(delivered[0]!, { body: '{"phone":"392"}' }),
  'sends lost': ({ phones }) => phones.pop(),
  'sends doubled': ({ phones }) => phones.push(phones[0]!),
  'sends to the wrong person': ({ phones }) => Object.assign(phones[0]!, { recipient: '392' }),
  'mails lost': ({ unknownMails }) => unknownMails.clear(),
  'mails doubled': ({ mailboxes }) => mailboxes.push(mailboxes[0]!),
  'mails to the wrong person': ({ mailboxes }) => Object.assign(mailboxes[0]!, { recipient: 'b@x' }),
  'keys with two effects': ({ sends }) => sends[0]!.ids.push('s9'),
  'keyed requests without an outcome': ({ sends }) => Object.assign(sends[1]!, { outcome: 'unanswered' }),
  'processes that crashed by themselves': ({ crashes }) => crashes.push('parley.crashed'),
}

test('evidence without a fault counts nothing', () => {
  expect(total(count(faultless()))).toBe(0)
})

test.each(COUNTERS)('a planted fault raises the counter "%s", and no other', (counter) => {
  const evidence = faultless()
  plants[counter](evidence)
  expect(count(evidence)).toEqual({ ...count(faultless()), [counter]: 1 })
})
