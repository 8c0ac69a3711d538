import { createServer, type Socket } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { startSandbox } from '../../sandbox/sandbox.ts'
import type { Mail } from './mailer.ts'
import { createSmtpMailer } from './smtp.ts'

const mailer = createSmtpMailer()
const sandbox = await startSandbox()
const servers: { close(): void }[] = []
afterAll(async () => {
  mailer.close()
  for (const server of servers) server.close()
  await sandbox.stop()
})

let number = 0
const mail = (others: Partial<Mail> = {}): Mail => ({
  messageId: `<${++number}@example.org>`,
  from: { name: 'Shop', address: 'shop@example.org' },
  to: 'ada@example.com',
  replyTo: null,
  subject: 'Hello',
  html: '<p>Hello</p>',
  text: null,
  headers: {},
  date: new Date('2026-01-01T00:00:00Z'),
  ...others,
})
const yes = async () => true

/** A mail server of which every answer is said: by command, or else 250. */
async function startServer(answers: Record<string, string>, onSession: (commands: string[]) => void = () => {}) {
  const server = createServer((socket: Socket) => {
    const commands: string[] = []
    onSession(commands)
    let data: string | undefined
    socket.on('error', () => {})
    socket.write(`${answers.greeting ?? '220 hello'}\r\n`)
    socket.on('data', (chunk) => {
      if (data !== undefined) {
        data += chunk
        if (!data.endsWith('\r\n.\r\n')) return
        data = undefined
        commands.push('END')
        if (answers.END === 'drop') socket.destroy()
        else socket.write(`${answers.END ?? '250 taken'}\r\n`)
        return
      }
      const command = chunk.toString().slice(0, 4).trim().toUpperCase()
      commands.push(command)
      const answer = answers[command] ?? (command === 'DATA' ? '354 go on' : '250 fine')
      if (answer === 'drop') socket.destroy()
      else socket.write(`${answer}\r\n`)
      if (answer.startsWith('354')) data = ''
    })
  })
  servers.push(server)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return `smtp://127.0.0.1:${(server.address() as { port: number }).port}`
}

test('a mail that the server takes is accepted, in its words', async () => {
  expect(await mailer.send(sandbox.smtpUrl, mail(), yes)).toEqual({
    kind: 'accepted',
    words: '250 OK: kept in the sandbox',
  })
})

test.each([
  ['MAIL', '451 later', { kind: 'refused', isTemporary: true, words: '451 later' }],
  ['RCPT', '550 nobody here', { kind: 'refused', isTemporary: false, words: '550 nobody here' }],
  ['DATA', '452 no room', { kind: 'refused', isTemporary: true, words: '452 no room' }],
  ['END', '554 spam', { kind: 'refused', isTemporary: false, words: '554 spam' }],
  ['END', '451 grey', { kind: 'refused', isTemporary: true, words: '451 grey' }],
  ['END', 'drop', { kind: 'unknown', words: expect.any(String) }],
  ['RCPT', 'drop', { kind: 'unreachable', words: expect.any(String) }],
  ['DATA', 'drop', { kind: 'unreachable', words: expect.any(String) }],
  ['greeting', '554 go away', { kind: 'refused', isTemporary: false, words: expect.stringContaining('554 go away') }],
])('%s answered with %s', async (command, answer, outcome) => {
  let asked = 0
  const url = await startServer({ [command]: answer })
  const handOver = async () => {
    asked += 1
    return true
  }
  expect(await mailer.send(url, mail(), handOver)).toEqual(outcome)
  // Nobody is asked before the server wants the mail, and nobody twice.
  expect(asked).toBe(command === 'END' ? 1 : 0)
})

test('a server that does not listen is not reached', async () => {
  expect(await mailer.send('smtp://127.0.0.1:1', mail(), yes)).toMatchObject({ kind: 'unreachable' })
})

test.each([
  ['says no', async () => false, 'withheld'],
  ['fails', () => Promise.reject(new Error('the database is away')), 'unreachable'],
])('a mail whose hand-over %s is never ended', async (_name, handOver, kind) => {
  let commands: string[] = []
  const url = await startServer({}, (session) => {
    commands = session
  })
  expect(await mailer.send(url, mail(), handOver)).toMatchObject({ kind })
  await new Promise((resume) => setTimeout(resume, 100))
  expect(commands).toContain('DATA')
  expect(commands).not.toContain('END')
  // The pool has survived it.
  expect(await mailer.send(url, mail(), yes)).toMatchObject({ kind: 'accepted' })
})

test('nothing of a mail is read from a file or an address', async () => {
  const html = '<img src="file:///etc/passwd"><img src="https://example.com/x.png">'
  await mailer.send(sandbox.smtpUrl, mail({ html, to: 'files@example.com' }), yes)
  const mails = (await (await fetch(`${sandbox.url}/sandbox/emails`)).json()) as { to: string; html: string }[]
  expect(mails.find(({ to }) => to === 'files@example.com')?.html.trim()).toBe(html)
})
