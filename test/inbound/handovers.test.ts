import { expect, test } from 'vitest'
import { bodyOf, secondsNow, textFrom } from '../provider-webhook.ts'
import { uniquePhone } from '../service.ts'
import { startInbound } from './inbound-world.ts'

const { service, company, provider, inbox } = await startInbound()

const handover = (from: string, changes: object, timestamp: number, owner = company) => ({
  entry: [
    {
      id: owner.sender.wabaAccountId,
      changes: [
        {
          field: 'messaging_handovers',
          value: {
            messaging_product: 'whatsapp',
            recipient: { display_phone_number: '390000000', phone_number_id: owner.phoneNumberId },
            sender: { phone_number: from },
            timestamp: String(timestamp),
            type: 'control_passed',
            ...changes,
          },
        },
      ],
    },
  ],
})
const report = (...input: Parameters<typeof handover>) => provider.report({ ...bodyOf(), ...handover(...input) })
const controlledBy = async (phone: string) => (await inbox.find(phone)).controlledBy
const TO_AGENT = { control_passed: { previous_owner_role: 'escalation', new_owner_role: 'ai_agent' } }
const TO_BUSINESS = { control_passed: { previous_owner_app_role: 'meta_business_agent' } }

test('handovers say who answers, and the latest counts in any order', async () => {
  const from = uniquePhone()
  await provider.messages(company.phoneNumberId, textFrom(from, 'Hi'))
  expect(await controlledBy(from)).toBeNull()
  const at = secondsNow() - 100
  await report(from, TO_AGENT, at)
  expect(await controlledBy(from)).toBe('agent')
  await report(from, TO_BUSINESS, at + 10)
  expect(await controlledBy(from)).toBe('business')
  await report(from, TO_AGENT, at)
  expect(await controlledBy(from)).toBe('business')
  await report(from, { type: 'control_released' }, at + 20)
  expect(await controlledBy(from)).toBeNull()
})

test('text from the business takes the conversation over, a template does not', async () => {
  const from = uniquePhone()
  await provider.messages(company.phoneNumberId, textFrom(from, 'Hi'))
  await report(from, TO_AGENT, secondsNow() - 100)
  await company.api('POST', '/templates/whatsapp/send', {
    recipient: from,
    type: 'template',
    template: { name: 'shipping_notice' },
  })
  expect(await controlledBy(from)).toBe('agent')
  const answer = await company.api('POST', '/templates/whatsapp/send', { recipient: from, type: 'text', text: 'Hello' })
  expect(answer.status).toBe(200)
  expect(await controlledBy(from)).toBe('business')
})

test('a handover of another company, or without a customer or owners, changes no conversation', async () => {
  const from = uniquePhone()
  const other = await service.createCompany()
  await provider.messages(company.phoneNumberId, textFrom(from, 'Hi'))
  await report(from, TO_AGENT, secondsNow(), other)
  await report(from, { sender: null, ...TO_AGENT }, secondsNow())
  await report(from, { control_passed: ['x'], type: 7 }, secondsNow())
  expect(await controlledBy(from)).toBeNull()
})
