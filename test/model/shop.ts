import { SEND } from '../people/people-world.ts'
import { eventsAt } from '../people/provider-events.ts'
import { newWamid } from '../provider-webhook.ts'
import type { Stage } from './stage.ts'

/** An answer of the API: `data` of a success, `error` of a refusal. */
export type Answer<Data = unknown> = {
  status: number
  text: string
  body: { data: Data; error?: { code: string; message: string } }
}
export type Sent = { chatId: number; wamid: string }
export type Conversation = {
  chatId: number
  contact: { id: number; phone: string | null; userId: string | null }
  sender: { channelId: number }
  unreadMessages: number
  lastMessage: { text: string | null } | null
}
export type Contact = {
  id: number
  email: string | null
  phone: string | null
  marketing_consent: { email: boolean | null; whatsapp: boolean | null }
}

/** A company of one history, with its numbers, as its owner, its customers and the provider see it. */
export async function openShop(stage: Stage, senders: object[]) {
  const { service } = stage
  const { companyId, key, api: request } = await service.createCompany({ isConnected: false })
  const api = async <Data = unknown>(...call: Parameters<typeof request>): Promise<Answer<Data>> => {
    const answer: Answer<Data> = await request(...call)
    return isBusy(answer) ? api<Data>(...call) : answer
  }
  const numbers: { phoneNumberId: string; channelId: number; events: ReturnType<typeof eventsAt> }[] = []
  for (const options of senders) {
    const { body, status, text } = await service.connectSender(companyId, options)
    if (status >= 300) throw new Error(`No number was connected: ${text}`)
    numbers.push({
      phoneNumberId: body.phoneNumberId,
      channelId: body.channelId ?? body.id,
      events: eventsAt(body.phoneNumberId),
    })
  }
  const story: string[] = []
  const posted: { event: object; sentence: string }[] = []

  return {
    stage,
    api,
    numbers,
    story,
    posted,
    say: (sentence: string) => story.push(sentence),
    report,
    repeat,
    send,
    reply,
    recipientOf,
    importList,
    identify,
    conversations,
    contacts,
    texts,
    newWamid,
  }

  async function report(event: object, sentence: string): Promise<void> {
    story.push(sentence)
    posted.push({ event, sentence })
    await stage.post(event)
  }

  /** The provider repeats an event. */
  async function repeat(place: number): Promise<boolean> {
    const one = posted[place % Math.max(1, posted.length)]
    if (one === undefined) return false
    story.push(`The provider repeats: ${one.sentence}`)
    await stage.post(one.event)
    return true
  }

  function send(recipient: string, message: object, place = 0): Promise<Answer<Sent>> {
    return api('POST', SEND, { recipient, sender: numbers[place]?.phoneNumberId, ...message })
  }

  function reply(chatId: number, message: object): Promise<Answer<Sent>> {
    return api('POST', `/whatsapp/conversations/${chatId}/messages`, message)
  }

  /** The recipient of a message, by the record of the provider. */
  async function recipientOf(wamid: string): Promise<string> {
    const { body } = await service.control('GET', '/messages?limit=100')
    const found = body.find((message: { wamid: string }) => message.wamid === wamid)
    if (found === undefined) throw new Error(`The provider has no message ${wamid}`)
    return found.to
  }

  /** From now on answers of the provider name the customer of a number like this. */
  async function identify(phone: string, ids: { waId?: string; userId?: string }, place = 0): Promise<void> {
    await service.control('POST', '/customers', { phoneNumberId: numbers[place]?.phoneNumberId, phone, ...ids })
  }

  async function importList(rows: string[]): Promise<void> {
    const headers = { authorization: `Bearer ${key.token}`, 'content-type': 'text/csv' }
    const taken = await service.call(service.url, 'POST', '/public/v1/contacts/import', `${rows.join('\n')}\n`, headers)
    if (isBusy(taken)) return importList(rows)
    if (taken.status !== 202) throw new Error(`The import was answered ${taken.status}: ${taken.text}`)
    for (;;) {
      const { status } = (await api<{ status: string }>('GET', `/contacts/imports/${taken.body.data.id}`)).body.data
      if (status === 'completed') return
      if (status === 'failed') throw new Error('The import failed')
      await new Promise((resume) => setTimeout(resume, 10))
    }
  }

  async function conversations(): Promise<Conversation[]> {
    return (await api<Conversation[]>('GET', '/whatsapp/conversations?pageSize=100')).body.data
  }

  async function contacts(): Promise<Contact[]> {
    return (await api<Contact[]>('GET', '/contacts?limit=100&sort=created_at')).body.data
  }

  /** The texts of a conversation, oldest first. */
  async function texts(chatId: number): Promise<string[]> {
    const { body } = await api<{ text: string }[]>('GET', `/whatsapp/conversations/${chatId}/messages?pageSize=100`)
    return body.data.map(({ text }) => text).reverse()
  }
}

/** A busy machine: nothing was done. */
const isBusy = ({ status, body }: Answer): boolean => status === 503 && body.error?.code === 'service_unavailable'

export type Shop = Awaited<ReturnType<typeof openShop>>

/** A difference between the service and the model, with the history that led to it. */
export class Wrong extends Error {}

/** Compares, and names what is compared. */
export function same(what: string, actual: unknown, expected: unknown): void {
  const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (one !== other) throw new Wrong(`${what}: expected ${other}, but the service has ${one}`)
}
