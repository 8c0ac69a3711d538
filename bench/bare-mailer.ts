/**
 * The baseline of sending: `node bench/bare-mailer.ts SMTP_URL CONNECTIONS`, the library alone, pooled. `POST
 * /COUNT` with a mail's HTML sends it so many times and answers how many seconds that took.
 */
import Fastify from 'fastify'
import { createTransport } from 'nodemailer'

const [, , smtpUrl = '', connections = ''] = process.argv
const maxConnections = Number(connections)
const transport = createTransport({ url: smtpUrl, pool: true, maxConnections, maxMessages: 1_000 })
const app = Fastify()

app.post<{ Params: { count: string }; Body: { html: string } }>('/:count', async ({ params, body: { html } }) => {
  let left = Number(params.count)
  const startedAt = performance.now()
  // Twice as many as there are connections: none of them ever waits for its next mail.
  const senders = Array.from({ length: maxConnections * 2 }, async () => {
    while (left > 0) {
      left -= 1
      const to = `bare-${left}@example.com`
      await transport.sendMail({ from: 'Shop <shop@example.org>', to, subject: 'Your order', html })
    }
  })
  await Promise.all(senders)
  return { seconds: (performance.now() - startedAt) / 1_000 }
})

const url = await app.listen({ port: 0, host: '127.0.0.1' })
console.log(JSON.stringify({ url }))
process.on('SIGTERM', () => process.exit(0))
