// A receiver that believes only what is signed: SECRET=… PORT=8080 node receiver.mjs
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const seen = new Set() // a delivery can arrive twice: store its id with your data, so that it survives a restart
const receiver = createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const body = Buffer.concat(chunks) // the raw bytes: re-serialized JSON may differ
    const expected = createHmac('sha256', process.env.SECRET).update(body).digest()
    const received = Buffer.from(request.headers['x-service-signature'] ?? '', 'hex')
    if (received.length !== expected.length || !timingSafeEqual(received, expected))
      return response.writeHead(401).end()
    const id = request.headers['x-service-delivery']
    const { event, message, change } = JSON.parse(body) // a message, or another subscribed event
    if (!seen.has(id)) console.log(id, event === 'whatsapp.message.received' ? message.text : `${event} ${change}`)
    seen.add(id)
    response.end('ok')
  })
})
receiver.listen(process.env.PORT)
