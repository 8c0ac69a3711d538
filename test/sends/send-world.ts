import { Ajv2020 } from 'ajv/dist/2020.js'
import { beforeEach, expect } from 'vitest'
import outboundSchema from '../../sandbox/outbound-message.schema.json' with { type: 'json' }
import { eventually, startTestService } from '../service.ts'

const isOutbound = new Ajv2020({ strict: false }).compile(outboundSchema)

/** A service with a company that sends, and a provider that answers at once. */
export async function startSends() {
  const SEND = '/templates/whatsapp/send'
  const service = await startTestService({ mirrors: true, config: { providerTimeoutMs: 5_000 } })
  const company = await service.createCompany()
  beforeEach(() =>
    service.control('PUT', '/behaviour', { latencyMs: 0, errorRate: 0, refuseWithCode: null, hang: false }),
  )
  const send = (body: object, headers: Record<string, string> = {}) => company.api('POST', SEND, body, headers)
  /** A customer writes, which opens the window. */
  async function openWindow(from: string, phoneNumberId = company.phoneNumberId) {
    await service.control('POST', '/inbound', { phoneNumberId, from, type: 'text', text: { body: 'Hi' } })
    await eventually(async () => {
      const rows = await service.db`
      select 1
      from conversations conversation
      join customers customer on (customer.company_id, customer.id) = (conversation.company_id, conversation.customer_id)
      where customer.phone = ${from} and conversation.last_inbound_at is not null
    `
      return rows.length > 0
    })
    return from
  }
  /** The request that the provider received for a message; valid by its schema. */
  async function receivedBy(wamid: string) {
    const { body } = await service.control('GET', '/messages?limit=500')
    const found = body.find((message: { wamid: string }) => message.wamid === wamid)
    expect(isOutbound(found?.body), JSON.stringify(isOutbound.errors)).toBe(true)
    return found.body
  }
  const rowOf = async (messageId: number) => {
    const rows = await service.db`select status, wamid, error, text, type from messages where id = ${messageId}`
    return rows[0]
  }
  return { SEND, service, company, send, openWindow, receivedBy, rowOf }
}
