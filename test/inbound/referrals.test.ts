import { expect, test } from 'vitest'
import { bodyOf, changeOf, textFrom } from '../provider-webhook.ts'
import { uniquePhone } from '../service.ts'
import { startInbound } from './inbound-world.ts'

const { company, provider, inbox } = await startInbound({ mirrors: true })

const HOUR = 3_600
const NOW = Math.floor(Date.now() / 1000) - 300 * HOUR
const ad = (name: string) => ({ source_type: 'ad', source_id: name, headline: `Ad ${name}` })
const at = (hours: number, name?: string) => ({ hours, ...(name !== undefined && { name }) })
const toMessage = (from: string, { hours, name }: { hours: number; name?: string }) =>
  textFrom(from, 'Hello', { timestamp: String(NOW + hours * HOUR), ...(name && { referral: ad(name) }) })

const CASES: [string, ReturnType<typeof at>[], string | null][] = [
  ['the only one', [at(0, 'a')], 'a'],
  ['none', [at(0)], null],
  ['one that comes later in the window', [at(0), at(5, 'b')], 'b'],
  ['the first of two', [at(0, 'a'), at(5, 'b')], 'a'],
  ['the first also when the window goes on for days', [at(0, 'a'), at(20), at(40), at(60, 'b')], 'a'],
  ['none of an earlier window', [at(0, 'a'), at(30)], null],
  ['that of a new window', [at(0, 'a'), at(30, 'b'), at(31, 'c')], 'b'],
  ['not one that comes late from an earlier window', [at(0), at(100), at(1, 'a')], null],
  ['the present one when another comes late from an earlier window', [at(100, 'b'), at(1, 'a')], 'b'],
]

for (const [name, together] of [
  ['in one body', true],
  ['each in a body of its own', false],
] as const) {
  test.each(CASES)(`a conversation shows %s, messages ${name}`, async (_, messages, expected) => {
    const from = uniquePhone()
    const items = messages.map((message) => toMessage(from, message))
    if (together) await provider.messages(company.phoneNumberId, ...items)
    else for (const item of items) await provider.messages(company.phoneNumberId, item)
    const conversation = await inbox.find(from)
    expect(conversation.referral).toEqual(expected === null ? null : ad(expected))
    const read = await company.api('GET', `/whatsapp/conversations/${conversation.chatId}`)
    expect(read.body.data.referral).toEqual(conversation.referral)
  })
}

test('answers of the business and reactions keep it', async () => {
  const from = uniquePhone()
  const message = toMessage(from, at(0, 'a'))
  await provider.messages(company.phoneNumberId, message)
  await provider.echoes(company.phoneNumberId, { ...textFrom('390000000', 'Hi'), to: from })
  await provider.report(
    bodyOf(changeOf(company.phoneNumberId, { statuses: [{ id: message.id, status: 'read', timestamp: '1' }] })),
  )
  expect((await inbox.find(from)).referral).toEqual(ad('a'))
})
