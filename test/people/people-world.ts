import { randomInt } from 'node:crypto'
import { inboxOf, providerOf } from '../provider-webhook.ts'
import { startTestService, type TestService, uniquePhone } from '../service.ts'
import { eventsAt } from './provider-events.ts'

export const SEND = '/templates/whatsapp/send'
export const UTILITY = { type: 'template', template: { name: 'shipping_notice' } }
export const MARKETING = {
  type: 'template',
  template: {
    name: 'welcome_offer',
    components: [{ type: 'BODY', parameters: ['Ada', 'HELLO10'].map((text) => ({ type: 'text', text })) }],
  },
}

export const newUserId = () => `IT.${randomInt(1e12)}`
export const newPerson = () => ({ phone: uniquePhone(), userId: newUserId() })

/** The service, and shops with customers who write. Marketing needs no open window, so that only consent can refuse it. */
export async function startPeople(options: Parameters<typeof startTestService>[0] = {}) {
  const service = await startTestService({ ...options, config: { marketingWindow: 'provider', ...options.config } })
  const provider = providerOf(service)
  return { service, createShop: (sender: object = {}) => createShop(service, provider, sender) }
}

async function createShop(service: TestService, { report }: ReturnType<typeof providerOf>, options: object) {
  const company = await service.createCompany({ sender: options })
  const { api, phoneNumberId, key } = company
  const inbox = inboxOf(company)
  const send = (recipient: string, message: object = UTILITY) => api('POST', SEND, { recipient, ...message })
  const reply = (chatId: number, text = 'An answer') =>
    api('POST', `/whatsapp/conversations/${chatId}/messages`, { type: 'text', text })

  /** The recipient of the message with this wamid, by the record of the provider. */
  async function recipientOf(wamid: string): Promise<string | undefined> {
    const { body } = await service.control('GET', '/messages?limit=200')
    return body.find((message: { wamid: string }) => message.wamid === wamid)?.to
  }

  /** The recipient that an answer in the conversation reached; the status of the refusal if there was one. */
  async function answerReaches(chatId: number): Promise<string | number | undefined> {
    const { status, body } = await reply(chatId)
    return status === 200 ? recipientOf(body.data.wamid) : status
  }

  const createContact = async (contact: object) => {
    const { status, body, text } = await api('POST', '/contacts', contact)
    if (status !== 200) throw new Error(text)
    return body.data[0]
  }
  const consentOf = async (contactId: number) =>
    (await api('GET', `/contacts/${contactId}`)).body.data.marketing_consent
  const contacts = async () => (await api('GET', '/contacts?limit=100&sort=created_at')).body.data
  /** The status of the answer to a marketing template: 403 for a customer who opted out. */
  const marketing = async (recipient: string) => (await send(recipient, MARKETING)).status

  return {
    ...company,
    key,
    inbox,
    events: eventsAt(phoneNumberId),
    report,
    send,
    reply,
    recipientOf,
    answerReaches,
    createContact,
    consentOf,
    contacts,
    marketing,
  }
}

export type Shop = Awaited<ReturnType<typeof createShop>>
