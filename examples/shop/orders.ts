import { createHash } from 'node:crypto'
import type { Envelope, Parley } from '@parley/client'

export type Order = { number: string; name: string; phone: string; status: 'confirmed' | 'cancelled' }
/** The latest order of each phone number, in digits. A real shop keeps these in its database. */
export type Orders = Map<string, Order>

export const createOrders = (): Orders => new Map()

export const digitsOf = (phone: string): string => phone.replace(/\D/g, '')

/** Confirms an order by template, which needs no open 24-hour window. A repeat with the same order sends nothing. */
export async function confirm(parley: Parley, orders: Orders, order: Order): Promise<void> {
  await parley.sendWhatsAppMessage(
    {
      recipient: digitsOf(order.phone),
      type: 'template',
      template: {
        name: 'order_update',
        languageCode: 'en_US',
        components: [
          {
            type: 'BODY',
            parameters: [
              { type: 'text', text: order.name },
              { type: 'text', text: order.number },
            ],
          },
        ],
      },
    },
    { idempotencyKey: `order-${order.number}-confirmed` },
  )
  orders.set(digitsOf(order.phone), order)
}

/** Answers a customer: cancels the order on request, else says how it stands. */
export async function answerTo(parley: Parley, orders: Orders, { contact, message }: Envelope): Promise<void> {
  // The business itself wrote an echo, in its phone app.
  if (message.isEcho || contact.phone === null || message.groupId !== null) return
  const order = orders.get(digitsOf(contact.phone))
  if (order === undefined) return
  if (/^cancel\b/i.test(message.text ?? '')) order.status = 'cancelled'
  await parley.sendWhatsAppMessage(
    { recipient: digitsOf(contact.phone), type: 'text', text: `Order ${order.number} is ${order.status}.` },
    { idempotencyKey: replyKey(message.wamid) },
  )
}

/** A delivery may come twice; with the same key its answer is sent once. A wamid can be longer than a key. */
const replyKey = (wamid: string): string => createHash('sha256').update(`reply to ${wamid}`).digest('hex')
