/** What several benchmarks do: sends, events of the provider, and messages forwarded to a receiver. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Done } from './compare.ts'
import type { LoadOrder } from './load.ts'
import type { ReceiverReport } from './receiver.ts'
import { type Company, call, type Stage, untilNone } from './stage.ts'

/** Recipients and senders of messages; warming up reaches all, so that what follows is the same on a machine of any speed. */
const PEOPLE = 5_000
export const WARM_UP = { requests: PEOPLE }
/** A receiver is waited for as long as something new comes within this time. */
const PATIENCE_MS = 120_000

/** Sends of an approved template, each to the next of many customers. */
export function sendOrder({ url }: Stage, { headers }: Company): LoadOrder {
  const parameters = ['Ada', '{n}'].map((text) => ({ type: 'text', text }))
  const template = { name: 'order_update', languageCode: 'en_US', components: [{ type: 'BODY', parameters }] }
  const body = JSON.stringify({ recipient: '{phone}', type: 'template', template })
  const path = '/public/v1/templates/whatsapp/send'
  return { url, method: 'POST', path, headers, body, phones: PEOPLE, fits: '"messageId":([0-9]+),"wamid":"wamid' }
}

/** A company that sends templates. */
export async function createSender(stage: Stage, senders?: number): Promise<Company> {
  const company = await stage.createCompany(senders)
  await stage.operator('POST', `/companies/${company.companyId}/templates/sync`)
  return company
}

/** Text messages from many customers to the numbers of a company by turns, one in each webhook of the provider. */
export function inboundOrder({ url }: Stage, { senders }: Company): LoadOrder {
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const value = {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: '390000000000', phone_number_id: '{choice}' },
    contacts: [{ profile: { name: 'Ada Lovelace' }, wa_id: '{phone}' }],
    messages: [{ from: '{phone}', id: 'wamid.T{at}-{n}', timestamp, type: 'text', text: { body: 'Is it ready?' } }],
  }
  const entry = [{ id: '200000000000001', changes: [{ value, field: 'messages' }] }]
  return {
    ...{ url, method: 'POST', path: '/public/v1/webhooks/whatsapp', headers: { 'content-type': 'application/json' } },
    body: JSON.stringify({ object: 'whatsapp_business_account', entry }),
    ...{ phones: PEOPLE, choices: senders.map(({ phoneNumberId }) => phoneNumberId) },
  }
}

export const untilHandled = (stage: Stage): Promise<void> => untilNone(stage, 'select from inbound_events')

/** Registers a receiver of inbound messages; returns the id of the registration. */
export async function register({ url }: Stage, { headers }: Company, receiver: object): Promise<number> {
  const body = { name: 'Bench', events: ['whatsapp.message.received'], ...receiver }
  const created = await call(`${url}/public/v1/webhooks/registrations`, 'POST', body, headers.authorization)
  return Number(Object(created).id)
}

/** The program that takes deliveries (bench/receiver.ts). */
export type Receiver = Awaited<ReturnType<typeof startReceiver>>

export async function startReceiver(stage: Stage) {
  const { address: url } = await stage.start('bench/receiver.ts', [])
  const untilReceived = async (count: number): Promise<ReceiverReport> => {
    for (let [seen, at] = [0, performance.now()]; ; await sleep(50)) {
      const one = (await (await fetch(`${url}/report`)).json()) as ReceiverReport
      if (one.received === count) return one
      if (one.received > seen) [seen, at] = [one.received, performance.now()]
      if (seen > count || performance.now() - at > PATIENCE_MS) throw new Error(`${seen} deliveries of ${count} came`)
    }
  }
  return {
    url,
    register: (company: Company, path: string, settings?: object) =>
      register(stage, company, { url: `${url}/${path}`, ...settings }),
    /** Closes the connections of requests that it never answers. */
    release: () => fetch(`${url}/release`),
    /** What it has got, once that is so much for each event of the load, and what else follows is done too. */
    receive: async (
      events: Promise<{ count: number; startedAtMs: number }>,
      perEvent = 1,
      untilDone = async () => {},
    ): Promise<Done & ReceiverReport> => {
      const { count, startedAtMs } = await events
      await untilReceived(count * perEvent)
      await untilDone()
      const received = await untilReceived(count * perEvent)
      await fetch(`${url}/reset`)
      return { ...received, count, perSecond: count / ((received.lastAtMs - startedAtMs) / 1_000) }
    },
  }
}

/** A company of a service, and the receiver that its messages are forwarded to. */
export type Player = { stage: Stage; company: Company; receiver?: Receiver }

/** The journeys, each until all that follows from its load is done. */
export const JOURNEYS = {
  sends: ({ stage, company }: Player, load: Partial<LoadOrder>): Promise<Done> =>
    stage.load.run({ ...sendOrder(stage, company), ...load }),
  'events handled': async ({ stage, company }: Player, load: Partial<LoadOrder>): Promise<Done> => {
    const done = await stage.load.run({ ...inboundOrder(stage, company), ...load })
    await untilHandled(stage)
    return { ...done, perSecond: (done.count * 1_000) / (Date.now() - done.startedAtMs) }
  },
  'messages forwarded': async ({ stage, company, receiver }: Player, load: Partial<LoadOrder>): Promise<Done> => {
    if (receiver === undefined) throw new Error('The company has no receiver')
    const untilDelivered = () => untilNone(stage, `select from deliveries where status = 'pending'`)
    return receiver.receive(stage.load.run({ ...inboundOrder(stage, company), ...load }), 1, untilDelivered)
  },
}
export type Journey = keyof typeof JOURNEYS
