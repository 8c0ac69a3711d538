import { randomInt } from 'node:crypto'
import { eventually, type TestService } from './service.ts'

export const WEBHOOK = '/public/v1/webhooks/whatsapp'

/** Bodies as the provider writes them; the caller gives the differences from the defaults. */
export const bodyOf = (...changes: object[]) => ({
  object: 'whatsapp_business_account',
  entry: changes.map((change) => ({ id: '901', time: 1760000000, changes: [change] })),
})

export const changeOf = (phoneNumberId: string, value: object, field = 'messages') => ({
  field,
  value: {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: '390000000', phone_number_id: phoneNumberId },
    ...value,
  },
})

let created = 0
const next = (): number => {
  created += 1
  return created
}
export const newWamid = (): string => `wamid.${Date.now()}${next()}${randomInt(1e6)}`

export const secondsNow = (): number => Math.floor(Date.now() / 1000)

export const textFrom = (from: string, body: string, more: object = {}) => ({
  from,
  id: newWamid(),
  timestamp: String(secondsNow()),
  type: 'text',
  text: { body },
  ...more,
})

/** The provider's side of a service's webhook, and what the company sees of it. */
export function providerOf(service: TestService) {
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    service.call(service.url, 'POST', WEBHOOK, typeof body === 'string' ? body : JSON.stringify(body), headers)

  /** Posts, expects 200 and waits until all that was stored has been handled. */
  const report = async (body: unknown, headers: Record<string, string> = {}) => {
    const answer = await post(body, headers)
    if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${answer.text}`)
    await handled()
  }
  const handled = () =>
    eventually(async () => (await service.db`select 1 from inbound_events limit 1`).length === 0, 60_000)

  const messages = (phoneNumberId: string, ...items: object[]) =>
    report(bodyOf(changeOf(phoneNumberId, { messages: items })))
  /** Messages of a customer with a profile name. */
  const named = (phoneNumberId: string, name: string, ...items: { from: string }[]) => {
    const contacts = items.map(({ from }) => ({ wa_id: from, profile: { name } }))
    return report(bodyOf(changeOf(phoneNumberId, { contacts, messages: items })))
  }
  const echoes = (phoneNumberId: string, ...items: object[]) =>
    report(bodyOf(changeOf(phoneNumberId, { message_echoes: items }, 'smb_message_echoes')))
  const statuses = (phoneNumberId: string, ...items: object[]) =>
    report(bodyOf(changeOf(phoneNumberId, { statuses: items })))

  const deadLetters = async (state: 'unroutable' | 'failed') =>
    (await service.operator('GET', `/${state}-events?limit=100`)).body as {
      id: number
      reason: string
      phoneNumberId: string | null
      body: string
    }[]

  return { post, report, handled, messages, named, echoes, statuses, deadLetters }
}

type Company = Awaited<ReturnType<TestService['createCompany']>>

// biome-ignore lint/suspicious/noExplicitAny: what a test reads from an answer is what it asserts
type Answer = any

/** A company's conversations, through its API. */
export function inboxOf({ api }: Company) {
  const list = async (): Promise<Answer[]> => (await api('GET', '/whatsapp/conversations?pageSize=100')).body.data
  const find = async (phone: string | null): Promise<Answer> =>
    (await list()).find(({ contact }: Answer) => contact.phone === phone)
  const messages = async (chatId: number, query = 'pageSize=100'): Promise<Answer[]> =>
    (await api('GET', `/whatsapp/conversations/${chatId}/messages?${query}`)).body.data
  /** The texts of a customer's conversation, oldest first. */
  const texts = async (phone: string): Promise<string[]> => {
    const conversation = await find(phone)
    return (await messages(conversation.chatId)).map(({ text }: Answer) => text).reverse()
  }
  return { list, find, messages, texts }
}
