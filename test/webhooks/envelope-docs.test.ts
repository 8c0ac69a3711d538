import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { buildEnvelope, isForwardable } from '../../src/webhooks/events/message-received.ts'
import { eventReader } from '../../src/wiring/events/event-reader.ts'

const CHANNEL = { companyId: 1, provider: 'meta', phoneNumber: '390655501234', channelId: 3 } as const

/** The rows of the table: kind, message of the provider, members of `message` in the envelope. */
const rows = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8')
  .split('\n')
  .map((line) => /^\| (.+?) \| `(\{.+?\})` \| `(\{.+\})` \|$/.exec(line))
  .filter((row) => row !== null)
  .map(([, kind = '', input = '', expected = '']) => ({
    kind,
    input: JSON.parse(input),
    expected: JSON.parse(expected),
  }))

function envelopeOf(message: object) {
  const value = {
    metadata: { display_phone_number: '390655501234', phone_number_id: '106540352242922' },
    messages: [{ id: 'wamid.1', from: '393331234567', timestamp: '1772443800', ...message }],
  }
  const parsed = eventReader.parse(JSON.stringify({ entry: [{ id: '1', changes: [{ field: 'messages', value }] }] }))
  const [item] = parsed.kind === 'items' ? parsed.items.filter(isForwardable) : []
  return item && JSON.parse(buildEnvelope(item, CHANNEL))
}

test.each(rows)('the docs show the envelope of $kind as the service builds it', ({ input, expected }) => {
  const { wamid, isEcho, timestamp, timestampIso, ...message } = envelopeOf(input).message
  const present = Object.entries(message).filter(([name, value]) => (value ?? false) !== false || name === 'text')
  expect(Object.fromEntries(present)).toEqual(expected)
})

test('the docs show every kind that integrators ask for', () => {
  expect(rows.length).toBeGreaterThanOrEqual(19)
})
