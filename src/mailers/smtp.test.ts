import { createServer, type Socket } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { describeMailer, mail } from './mailer-suite.ts'
import { createSmtpMailer } from './smtp.ts'

describeMailer('SMTP', createSmtpMailer)

const mailer = createSmtpMailer()
const servers: { close(): void }[] = []
afterAll(() => {
  mailer.close()
  for (const server of servers) server.close()
})

/** A mail server that answers DATA so, which none of the libraries' does, and everything else with 250. */
async function startServer(answer: string) {
  const server = createServer((socket: Socket) => {
    socket.on('error', () => {})
    socket.write('220 hello\r\n')
    socket.on('data', (chunk) => {
      if (!chunk.toString().startsWith('DATA')) socket.write('250 fine\r\n')
      else if (answer === 'drop') socket.destroy()
      else socket.write(`${answer}\r\n`)
    })
  })
  servers.push(server)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return `smtp://127.0.0.1:${(server.address() as { port: number }).port}`
}

test.each([
  ['452 no room', { kind: 'refused', isTemporary: true, words: '452 no room' }],
  ['554 no', { kind: 'refused', isTemporary: false, words: '554 no' }],
  ['drop', { kind: 'unavailable', fault: 'connection', words: expect.stringMatching(/./) }],
])('DATA answered with %s', async (answer, outcome) => {
  const url = await startServer(answer)
  let asked = 0
  const confirmSubmission = async () => {
    asked += 1
    return true
  }
  expect(await mailer.send(url, mail(), confirmSubmission)).toEqual(outcome)
  expect(asked).toBe(0)
})
