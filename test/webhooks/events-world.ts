import { createHmac } from 'node:crypto'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { beforeAll, expect } from 'vitest'
import { startMailing } from '../emails/email-world.ts'
import { providerOf, secondsNow, textFrom } from '../provider-webhook.ts'
import { type Received, startReceiver } from '../receiver.ts'
import { eventually, type TestService, uniquePhone } from '../service.ts'

const SECRET = 'a secret of the receiver'

// biome-ignore lint/suspicious/noExplicitAny: what a test reads from a body is what it asserts
export type Body = any

export const byTime = (bodies: Body[]) => bodies.map(({ change }) => change)

export const statusOf = (id: string, status: string, more: object = {}) => ({
  id,
  status,
  timestamp: String(secondsNow()),
  recipient_id: '393331234567',
  ...more,
})

/** A service whose receivers check each event against the reference. */
export async function startEvents() {
  const mailing = await startMailing({ webhookAllowPrivate: true })
  const { createMailing, get, age } = mailing
  const service: TestService = mailing
  const provider = providerOf(service)
  let checks: Map<string, (body: unknown) => boolean>
  beforeAll(async () => {
    const { body } = await service.call(service.url, 'GET', '/openapi.json')
    const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }))
    ajv.addSchema(body, 'openapi')
    checks = new Map(
      Object.keys(body.webhooks).map((event) => {
        const pointer = `openapi#/webhooks/${event}/post/requestBody/content/application~1json/schema`
        return [event, ajv.compile({ $ref: pointer })]
      }),
    )
  })
  /** A receiver of these events, and the bodies that it got in the order in which their deliveries were made. */
  async function subscribe(api: Body, events: string[], more: object = {}) {
    const receiver = await startReceiver()
    const answer = await api('POST', '/webhooks/registrations', {
      name: 'R',
      url: receiver.url,
      events,
      secret: SECRET,
      ...more,
    })
    expect(answer.status).toBe(201)
    const bodies = async (count: number): Promise<Body[]> => {
      await eventually(async () => receiver.received.length >= count)
      return receiver.received.map(check)
    }
    return { bodies, received: receiver.received, registrationId: answer.body.id as number }
  }
  /** The body of a request, if its headers, its signature and its shape are those of the reference. */
  function check({ headers, body }: Received): Body {
    const parsed = JSON.parse(String(body))
    expect(headers).toMatchObject({
      'x-service-event': parsed.event,
      'x-service-delivery': parsed.id ?? parsed.message.wamid,
      'x-service-signature': createHmac('sha256', SECRET).update(body).digest('hex'),
    })
    expect(checks.get(parsed.event)?.(parsed)).toBe(true)
    return parsed
  }
  async function sendText(company: Body): Promise<{ wamid: string; messageId: number; chatId: number }> {
    const from = uniquePhone()
    await provider.messages(company.phoneNumberId, textFrom(from, 'Hello'))
    const sent = await company.api('POST', '/templates/whatsapp/send', {
      recipient: from,
      sender: company.phoneNumberId,
      type: 'text',
      text: 'Your order is ready',
    })
    expect(sent.status).toBe(200)
    return sent.body.data
  }
  /** A send to a provider that behaves like this, and whose outcome or acceptance is not known therefore. */
  async function loseOutcome(company: Body, behaviour: object): Promise<{ messageId: number }> {
    const from = uniquePhone()
    await provider.messages(company.phoneNumberId, textFrom(from, 'Hello'))
    await service.control('PUT', '/behaviour', behaviour)
    const text = { recipient: from, sender: company.phoneNumberId, type: 'text', text: 'Your order is ready' }
    const { status } = await company.api('POST', '/templates/whatsapp/send', text)
    await service.control('PUT', '/behaviour', { resetBeforeAnswer: null, refuseWithCode: null })
    expect(status).toBeGreaterThanOrEqual(500)
    const [message] = await service.db<{ id: number }[]>`
    select id from messages where company_id = ${company.companyId} and direction = 'outbound'
  `
    return { messageId: message!.id }
  }
  const eventIds = async (companyId: number) => {
    const rows = await service.db<{ eventId: string }[]>`
    select event_id from deliveries where company_id = ${companyId} order by id
  `
    return rows.map(({ eventId }) => eventId)
  }
  return { mailing, createMailing, get, age, service, provider, subscribe, sendText, loseOutcome, eventIds }
}
