import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import { sampleOf } from '../../sandbox/world/sample-media.ts'
import { SEND, type startTransports } from '../providers/transports-world.ts'
import { eventually, uniquePhone } from '../service.ts'

export const MEDIA = '/public/v1/whatsapp/media'

type Transports = Awaited<ReturnType<typeof startTransports>>
export type Connected = Awaited<ReturnType<Transports['connected']>>

const schema = JSON.parse(readFileSync(new URL('../../sandbox/outbound-message.schema.json', import.meta.url), 'utf8'))
const isOutbound = new Ajv2020({ strict: false }).compile(schema)

/** A picture of its own: what follows the end of a PNG is ignored. */
export const picture = () => Buffer.concat([sampleOf('image/png').bytes, randomBytes(32)])

/** What tests of files do with the numbers of `startTransports`. */
export function uploadWorld({ service: { db, url, control } }: Transports) {
  async function upload(company: Connected, bytes: Buffer | string, query = '', headers: Record<string, string> = {}) {
    const answer = await fetch(`${url}${MEDIA}${query}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${company.key.token}`,
        'content-type': 'application/octet-stream',
        ...headers,
      },
      body: typeof bytes === 'string' ? bytes : new Uint8Array(bytes),
    })
    return { status: answer.status, headers: answer.headers, body: JSON.parse(await answer.text()) }
  }

  async function uploaded(company: Connected, bytes: Buffer, query = ''): Promise<string> {
    const { status, body } = await upload(company, bytes, query)
    expect([status, body.error]).toEqual([201, undefined])
    return body.data.mediaId
  }

  async function openWindow({ phoneNumberId }: Connected) {
    const from = uniquePhone()
    await control('POST', '/inbound', { phoneNumberId, from, type: 'text', text: { body: 'Hi' } })
    await eventually(async () => {
      const rows = await db`
        select from conversations conversation
        join customers customer on (customer.company_id, customer.id) = (conversation.company_id, conversation.customer_id)
        where customer.phone = ${from} and conversation.last_inbound_at is not null
      `
      return rows.length > 0
    })
    return from
  }

  /** The body that the provider got for that recipient. */
  async function takenBy(recipient: string) {
    const { body } = await control('GET', '/messages?limit=500')
    const taken = body.find((message: { to: string }) => message.to === recipient)
    expect([isOutbound(taken.body), isOutbound.errors]).toEqual([true, null])
    return taken.body
  }

  const sentTo = async (company: Connected, content: object) => {
    const recipient = await openWindow(company)
    const { status, body } = await company.api('POST', SEND, { recipient, ...content })
    expect([status, body.error]).toEqual([200, undefined])
    return { ...body.data, recipient, body: await takenBy(recipient) }
  }

  async function recordOf(company: Connected, { chatId, messageId }: { chatId: number; messageId: number }) {
    const { body } = await company.api('GET', `/whatsapp/conversations/${chatId}/messages`)
    return body.data.find(({ id }: { id: number }) => id === messageId)
  }

  /** The bytes at the address of a message's file. */
  async function shown(media: { url: string }): Promise<Buffer> {
    const answer = await fetch(media.url.replace('https://api.example.com', url))
    expect(answer.status).toBe(200)
    return Buffer.from(await answer.arrayBuffer())
  }

  return { shown, upload, uploaded, openWindow, takenBy, sentTo, recordOf }
}
