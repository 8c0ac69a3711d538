import { expect } from 'vitest'
import { inboxOf, providerOf } from '../provider-webhook.ts'
import { startTestService } from '../service.ts'

export const TEMPLATE = { type: 'template', template: { name: 'shipping_notice' } }

/** The service, a company with a number, the provider's side of both, and the company's inbox. Call it at the top of a file. */
export async function startInbound(options: Parameters<typeof startTestService>[0] = {}) {
  const service = await startTestService(options)
  const company = await service.createCompany()
  const sendTo = async (recipient: string, owner = company) => {
    const { status, body } = await owner.api('POST', '/templates/whatsapp/send', { recipient, ...TEMPLATE })
    expect(status).toBe(200)
    return body.data as { chatId: number; messageId: number; wamid: string }
  }
  return { service, company, provider: providerOf(service), inbox: inboxOf(company), sendTo }
}
