/** What several benchmarks do: sends, events of the provider, and messages forwarded to a receiver. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Done } from './compare.ts'
import type { LoadOrder } from './load.ts'
import type { ReceiverReport } from './receiver.ts'
import { type Company, register, type Stage, untilNone } from './stage.ts'

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
export async function createSender(stage: Stage, ...options: Parameters<Stage['createCompany']>): Promise<Company> {
  const company = await stage.createCompany(...options)
  await stage.operator('POST', `/companies/${company.companyId}/templates/sync`)
  return company
}

/** Text messages from many customers to the numbers of companies by turns, one in each webhook of the provider. */
export function inboundOrder({ url }: Stage, ...companies: readonly Company[]): LoadOrder {
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const value = {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: '390000000000', phone_number_id: '{choice}' },
    contacts: [{ profile: { name: 'Ada Lovelace' }, wa_id: '{phone}' }],
    messages: [
      { from: '{phone}', id: 'wamid.T{at}-{n}', timestamp, type: 'text', text: { body: 'Is my order ready?' } },
    ],
  }
  const entry = [{ id: '200000000000001', changes: [{ value, field: 'messages' }] }]
  return {
    url,
    method: 'POST',
    path: '/public/v1/webhooks/whatsapp',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ object: 'whatsapp_business_account', entry }),
    phones: PEOPLE,
    choices: companies.flatMap(({ senders }) => senders.map(({ phoneNumberId }) => phoneNumberId)),
  }
}

export const untilHandled = (stage: Stage): Promise<void> => untilNone(stage, 'select from inbound_events')
export const untilDelivered = (stage: Stage): Promise<void> =>
  untilNone(stage, `select from deliveries where status = 'pending'`)

/** The program that takes deliveries (bench/receiver.ts). */
export type Receiver = {
  url: string
  register(company: Company, path: string, settings?: object): Promise<string>
  /** Closes the connections of requests that it never answers. */
  release(): Promise<unknown>
  /** What it has got, once that is so much for each event of the load, and what else follows is done too. */
  receive(
    events: Promise<{ count: number; startedAtMs: number }>,
    perEvent?: number,
    untilDone?: () => Promise<void>,
  ): Promise<Done & ReceiverReport>
}

export async function startReceiver(stage: Stage): Promise<Receiver> {
  const { address: url } = await stage.start('bench/receiver.ts', [])
  const report = async () => (await (await fetch(`${url}/report`)).json()) as ReceiverReport
  const untilReceived = async (count: number): Promise<ReceiverReport> => {
    for (let [seen, at] = [0, performance.now()]; ; await sleep(50)) {
      const one = await report()
      if (one.received === count) return one
      if (one.received > seen) [seen, at] = [one.received, performance.now()]
      if (seen > count || performance.now() - at > PATIENCE_MS) throw new Error(`${seen} deliveries of ${count} came`)
    }
  }
  return {
    url,
    register: (company, path, settings) => register(stage, company, { url: `${url}/${path}`, ...settings }),
    release: () => fetch(`${url}/release`),
    receive: async (events, perEvent = 1, untilDone = async () => {}) => {
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
    return done
  },
  'messages forwarded': (
    { stage, company, receiver }: Player,
    load: Partial<LoadOrder>,
    registrations = 1,
  ): Promise<Done> => {
    if (receiver === undefined) throw new Error('The company has no receiver')
    const events = stage.load.run({ ...inboundOrder(stage, company), ...load })
    return receiver.receive(events, registrations, () => untilDelivered(stage))
  },
}
export type Journey = keyof typeof JOURNEYS
