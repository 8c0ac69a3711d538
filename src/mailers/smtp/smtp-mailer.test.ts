import { createServer, type Socket } from 'node:net'
import { afterAll, expect, test, vi } from 'vitest'
import { createCertificate } from '../../../test/deploy/certificate.ts'
import { type Doing, type MailServer, type Moment, startMailServer } from '../../../test/emails/mail-server.ts'
import { startDoor } from '../../../test/held-handshakes.ts'
import { anyMessage, describeMailer, HASTY_MS, mail, PATIENT, type ServerAnswer, yes } from '../mailer-suite.ts'
import { createSmtpMailer } from './smtp-mailer.ts'

/** At which moment of a session the server says it. */
const MOMENTS: Partial<Record<ServerAnswer, [Moment, Doing]>> = {
  'no room': ['END', { code: 452, message: 'no room' }],
  'no mailbox': ['RCPT', { code: 550, message: 'no mailbox' }],
  drop: ['END', 'drop'],
  hang: ['END', 'hang'],
}

const refuseLogin = (_auth: unknown, _session: unknown, done: (error: Error) => void) =>
  done(Object.assign(new Error('wrong login'), { responseCode: 535 }))

describeMailer('SMTP', {
  create: createSmtpMailer,
  deadUrl: 'smtp://127.0.0.1:1',
  startServer: async (answer, beforeAnswer) => {
    const [moment, doing] = MOMENTS[answer] ?? []
    const behave = (now: Moment) => (now === moment ? doing : undefined)
    const server = await startMailServer({ behave, beforeAnswer, server: { onAuth: refuseLogin } })
    return answer === 'wrong login' ? { ...server, url: server.url.replace('//', '//user:wrong@') } : server
  },
})

const mailer = createSmtpMailer(PATIENT)
const servers: { stop(): unknown }[] = []
afterAll(async () => {
  mailer.close()
  await Promise.all(servers.map((server) => server.stop()))
})

const start = async (options: Parameters<typeof startMailServer>[0] = {}): Promise<MailServer> => {
  const server = await startMailServer(options)
  servers.push(server)
  return server
}
const startAt = (moment: Moment, doing: Doing) => start({ behave: (now) => (now === moment ? doing : undefined) })

test('connections are used again', async () => {
  const { url, sessions } = await start()
  for (let sent = 0; sent < 10; sent += 1) await mailer.send(url, mail(), yes)
  expect(sessions.size).toBe(1)
})

test.each<[Moment, number, boolean]>([
  ['MAIL', 451, true],
  ['MAIL', 553, false],
  ['RCPT', 450, true],
  ['RCPT', 550, false],
  ['END', 452, true],
  ['END', 554, false],
])('%s answered with %i: temporary %s, with the message of the server', async (moment, code, isTemporary) => {
  const { url } = await startAt(moment, { code, message: 'says the server' })
  const message = expect.stringMatching(new RegExp(`${code} .*says the server`))
  expect(await mailer.send(url, mail(), yes)).toEqual({ kind: 'refused', isTemporary, message })
})

test.each<[Moment, number, string]>([
  ['greeting', 421, 'greeting'],
  ['greeting', 554, 'greeting'],
  ['MAIL', 530, 'login'],
  ['MAIL', 538, 'login'],
  ['RCPT', 535, 'login'],
])('%s answered with %i is a fault of the server (%s), with its message', async (moment, code, fault) => {
  const { url } = await startAt(moment, { code, message: 'says the server' })
  const message = expect.stringMatching(new RegExp(`${code} .*says the server`))
  expect(await mailer.send(url, mail(), yes)).toEqual({ kind: 'unavailable', fault, message })
})

test('a refused login is a fault of the server, with its message', async () => {
  const server = {
    onAuth: (_auth: unknown, _session: unknown, done: (error: Error) => void) =>
      done(Object.assign(new Error('Authentication failed'), { responseCode: 535 })),
  }
  const { url, mails } = await start({ server })
  const withLogin = url.replace('smtp://', 'smtp://user:wrong@')
  expect(await mailer.send(withLogin, mail(), yes)).toEqual({
    kind: 'unavailable',
    fault: 'login',
    message: expect.stringMatching(/^535 .*Authentication failed/),
  })
  expect(mails).toEqual([])
})

test('the connection is not given up for a mail that is refused', async () => {
  let refusals = 5
  const { url, sessions } = await start({
    behave: (moment) => (moment === 'RCPT' && refusals-- > 0 ? { code: 550, message: 'no' } : undefined),
  })
  for (const kind of ['refused', 'accepted']) {
    for (let sent = 0; sent < 5; sent += 1) expect(await mailer.send(url, mail(), yes)).toMatchObject({ kind })
  }
  // A second one serves while the first forgets the mail that was refused.
  expect(sessions.size).toBeLessThanOrEqual(2)
})

test.each<[Moment, Doing, string, number]>([
  ['greeting', 'drop', 'unavailable', 0],
  ['MAIL', 'drop', 'unavailable', 0],
  ['RCPT', 'drop', 'unavailable', 0],
  ['END', 'drop', 'unknown', 1],
  ['greeting', 'hang', 'unavailable', 0],
  ['RCPT', 'hang', 'unavailable', 0],
  ['END', 'hang', 'unknown', 1],
])('at %s a %s: %s', async (moment, doing, kind, asked) => {
  const { url } = await startAt(moment, doing)
  const hasty = createSmtpMailer({ ...PATIENT, [moment === 'END' ? 'afterEndMs' : 'beforeEndMs']: HASTY_MS })
  servers.push({ stop: () => hasty.close() })
  let asks = 0
  const confirmSubmission = async () => {
    asks += 1
    return true
  }
  const used = doing === 'hang' ? hasty : mailer
  expect(await used.send(url, mail(), confirmSubmission)).toMatchObject({ kind, message: anyMessage })
  // The submission is asked for after the server accepts the mail, and once.
  expect(asks).toBe(asked)
})

test.each<Moment | 'handshake'>([
  'handshake',
  'greeting',
  'MAIL',
  'RCPT',
])('a mail whose deadline passes before its %s is answered never arrives', async (moment) => {
  let answer = () => undefined as unknown
  const isHeld = new Promise<void>((resolve) => {
    answer = () => resolve()
  })
  const server = await start({
    behave: (now) => (now === moment ? isHeld : undefined),
    ...(moment === 'handshake' && { scheme: 'smtps', server: { ...createCertificate(), secure: true } }),
  })
  const door = await startDoor(Number(URL.parse(server.url)?.port))
  if (moment !== 'handshake') door.release()
  const url = `${server.url.replace(/[0-9]+$/, String(door.port))}?tls.rejectUnauthorized=false`
  const hasty = createSmtpMailer({ ...PATIENT, beforeEndMs: HASTY_MS })
  servers.push({ stop: () => hasty.close() })
  expect(await hasty.send(url, mail(), yes)).toMatchObject({ kind: 'unavailable' })
  answer()
  door.release()
  await vi.waitFor(() => expect(door.open.size).toBe(0), { timeout: 60_000 })
  expect(await mailer.send(url, mail({ subject: 'Next' }), yes)).toMatchObject({ kind: 'accepted' })
  expect(server.mails.map(({ header }) => header('subject'))).toEqual([['Next']])
})

test('a mail that is too big for the server is refused for good', async () => {
  const { url, mails } = await start({ server: { size: 10_000 } })
  const html = `<p>${'long '.repeat(10_000)}</p>`
  expect(await mailer.send(url, mail({ html }), yes)).toMatchObject({ kind: 'refused', isTemporary: false })
  expect(mails).toEqual([])
})

test('TLS is used where the server offers it, and from the start where the address says so', async () => {
  for (const scheme of ['smtp', 'smtps'] as const) {
    const server = { ...createCertificate(), secure: scheme === 'smtps' }
    const { url, mails } = await start({ scheme, server })
    const trusting = `${url}?tls.rejectUnauthorized=false`
    expect(await mailer.send(trusting, mail(), yes)).toMatchObject({ kind: 'accepted' })
    expect(mails).toMatchObject([{ isSecure: true }])
  }
})

test('a certificate that is not trusted gets no mail', async () => {
  for (const scheme of ['smtp', 'smtps'] as const) {
    const server = { ...createCertificate(), secure: scheme === 'smtps' }
    const { url, mails } = await start({ scheme, server })
    expect(await mailer.send(url, mail(), yes)).toEqual({ kind: 'unavailable', fault: 'tls', message: anyMessage })
    expect(mails).toEqual([])
  }
})

test('a server without TLS gets no mail where the address requires it', async () => {
  const { url, mails } = await start()
  expect(await mailer.send(`${url}?requireTLS=true`, mail(), yes)).toMatchObject({
    kind: 'unavailable',
    fault: 'tls',
  })
  expect(mails).toEqual([])
})

test('nothing of a mail is read from a file or an address', async () => {
  const { url, mails } = await start()
  const html = '<img src="file:///etc/passwd"><img src="https://example.com/x.png">'
  await mailer.send(url, mail({ html }), yes)
  expect(mails[0]?.html?.trim()).toBe(html)
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
  servers.push({ stop: () => server.close() })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return `smtp://127.0.0.1:${(server.address() as { port: number }).port}`
}

test.each([
  ['452 no room', { kind: 'refused', isTemporary: true, message: '452 no room' }],
  ['554 no', { kind: 'refused', isTemporary: false, message: '554 no' }],
  ['drop', { kind: 'unavailable', fault: 'connection', message: expect.stringMatching(/./) }],
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

test.each([
  { to: 'ünal@example.com' },
  { from: { name: null, address: 'ö@example.org' } },
  { replyTo: 'é@example.org' },
])('an address beyond ASCII needs a server with SMTPUTF8: %j', async (addresses) => {
  const without = await start({ server: { hideSMTPUTF8: true } })
  expect(await mailer.send(without.url, mail(addresses), yes)).toEqual({
    kind: 'refused',
    isTemporary: false,
    message: expect.stringContaining('SMTPUTF8'),
  })
  expect(without.mails).toEqual([])
  const offering = await start()
  expect(await mailer.send(offering.url, mail(addresses), yes)).toMatchObject({ kind: 'accepted' })
  expect(offering.mails).toHaveLength(1)
})

test('a server that is away is not one without SMTPUTF8', async () => {
  const outcome = await mailer.send('smtp://127.0.0.1:1', mail({ to: 'ünal@example.com' }), yes)
  expect(outcome).toMatchObject({ kind: 'unavailable', fault: 'connection' })
})
