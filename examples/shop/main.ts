// PARLEY_URL=… PARLEY_KEY=… WEBHOOK_SECRET=… PORT=… PUBLIC_URL=… node main.ts
import { createServer } from 'node:http'
import { expressReceiver, Parley } from '@parley/client'
import { orderDesk } from './order-desk.ts'
import { answerTo, createOrders } from './orders.ts'

const parley = new Parley({ baseUrl: setting('PARLEY_URL'), apiKey: setting('PARLEY_KEY') })
const secret = setting('WEBHOOK_SECRET')
const hook = `${setting('PUBLIC_URL')}/hooks/whatsapp`

const orders = createOrders()
const desk = orderDesk(parley, orders)
const receiver = expressReceiver({ secret, onMessage: (envelope) => answerTo(parley, orders, envelope) })

const server = createServer((request, response) => {
  if (request.method === 'POST' && request.url === '/orders') return void desk(request, response)
  if (request.method === 'POST' && request.url === '/hooks/whatsapp') return void receiver(request, response)
  response.writeHead(404).end()
})
server.listen(Number(setting('PORT')), async () => {
  await register()
  console.log(`Orders are taken at port ${setting('PORT')}, replies at ${hook}`)
})

/** Registers the address for replies once, and gives it the present secret. */
async function register(): Promise<void> {
  const existing = (await parley.listRegistrations()).find(({ url }) => url === hook)
  if (existing !== undefined) await parley.updateRegistration({ id: existing.id }, { secret, status: 'active' })
  else await parley.createRegistration({ name: 'Shop', url: hook, events: ['whatsapp.message.received'], secret })
}

function setting(name: string): string {
  const value = process.env[name]
  if (value === undefined || value === '') throw new Error(`Set ${name}`)
  return value
}
