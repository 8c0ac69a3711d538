import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Parley, ParleyError } from '@parley/client'
import { confirm, type Order, type Orders } from './orders.ts'

const MAX_BYTES = 10_000

/** Handles `POST /orders` with `{"number", "name", "phone"}`: confirms the order to the customer. */
export function orderDesk(parley: Parley, orders: Orders) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const order = toOrder(await readText(request))
    const [status, text] = order === undefined ? [400, 'number, name and phone are required'] : await take(order)
    response.writeHead(status, { 'content-type': 'text/plain' }).end(text)
  }

  async function take(order: Order): Promise<[number, string]> {
    try {
      await confirm(parley, orders, order)
      return [201, `Order ${order.number} is confirmed`]
    } catch (error) {
      if (!(error instanceof ParleyError)) throw error
      if (error.code === 'invalid_phone_number') return [422, error.details.fields.map(({ message }) => message).join()]
      if (error.code === 'recipient_not_on_whatsapp') return [422, 'The phone number is not on WhatsApp']
      if (error.code === 'send_outcome_unknown') return [202, 'The confirmation may have been sent']
      console.error(error.code, error.message, error.requestId)
      return [502, 'The order could not be confirmed: send it again']
    }
  }
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk
    if (text.length > MAX_BYTES) return ''
  }
  return text
}

function toOrder(text: string): Order | undefined {
  try {
    const { number, name, phone } = JSON.parse(text)
    const isOrder = [number, name, phone].every((value) => typeof value === 'string' && value !== '')
    return isOrder ? { number, name, phone, status: 'confirmed' } : undefined
  } catch {
    return undefined
  }
}
