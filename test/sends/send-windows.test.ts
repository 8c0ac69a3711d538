import { expect, test } from 'vitest'
import type { Config } from '../../src/platform/settings/config.ts'
import { startTestService, uniquePhone } from '../service.ts'

const text = (value: string) => ({ type: 'text', text: value })
const body = (...values: string[]) => ({ type: 'BODY', parameters: values.map(text) })
const MESSAGES = {
  text: { type: 'text', text: 'Ciao' },
  UTILITY: { type: 'template', template: { name: 'shipping_notice' } },
  MARKETING: { type: 'template', template: { name: 'welcome_offer', components: [body('Ada', 'SAVE')] } },
  AUTHENTICATION: {
    type: 'template',
    template: { name: 'verify_code', components: [body('123456'), { type: 'BUTTONS', parameters: [text('123456')] }] },
  },
}

/** The answers to each message for a customer who never wrote. */
async function answersOf(config: Partial<Config>) {
  const service = await startTestService({ config, mirrors: true })
  const { api } = await service.createCompany()
  const answers = Object.entries(MESSAGES).map(async ([name, message]) => {
    const { status } = await api('POST', '/templates/whatsapp/send', { recipient: uniquePhone(), ...message })
    return [name, status]
  })
  return Object.fromEntries(await Promise.all(answers))
}

test.each([
  ['text and marketing templates are refused, utility and authentication templates sent', {}, 422, 422],
  ['with MARKETING_WINDOW=provider only text is refused', { marketingWindow: 'provider' }, 422, 200],
  ['with SESSION_WINDOW=provider every message is sent', { sessionWindow: 'provider' }, 200, 200],
] as const)('outside the window %s', async (_, config, ofText, ofMarketing) => {
  expect(await answersOf(config)).toEqual({ text: ofText, UTILITY: 200, MARKETING: ofMarketing, AUTHENTICATION: 200 })
})
