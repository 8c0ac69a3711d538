import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'
import { headerValues, parseMail } from '../../sandbox/mail/mime.ts'

/** Where a session is when the script is asked: at its greeting, a command, or the end of a mail. */
export type Moment = 'greeting' | 'MAIL' | 'RCPT' | 'END'
/** The behaviour of the server: answers this code, breaks off, never answers, or waits. */
export type Doing = { code: number; message: string } | 'drop' | 'hang' | Promise<void>

export type Behave = (moment: Moment, session: SMTPServerSession) => Doing | undefined

type Options = {
  behave?: Behave
  /** The behaviour between a mail's end and the answer to it. */
  beforeAnswer?: () => Promise<unknown>
  scheme?: 'smtp' | 'smtps'
  server?: SMTPServerOptions
}

export type MailServer = Awaited<ReturnType<typeof startMailServer>>

/** A mail as it came, parsed by code that shares nothing with the composer. */
type ReceivedMail = {
  to: string[]
  isSecure: boolean
  headerNames: string[]
  header(name: string): string[]
  html: string | null
  text: string | null
}

function readMail(raw: Buffer, { envelope, secure }: SMTPServerSession): ReceivedMail {
  const mail = parseMail(raw)
  return {
    to: envelope.rcptTo.map(({ address }) => address),
    isSecure: secure,
    headerNames: mail.headers.map(({ name }) => name.toLowerCase()),
    header: (name) => headerValues(mail, name),
    html: mail.html,
    text: mail.text,
  }
}

/** A real mail server that stores what it gets, and behaves as the test sets it. */
export async function startMailServer(settings: Options) {
  const { behave = () => undefined, beforeAnswer, scheme = 'smtp', server: options = {} } = settings
  const mails: ReceivedMail[] = []
  const sessions = new Set<string>()
  let mostAtOnce = 0

  const act = (moment: Moment, session: SMTPServerSession, go: (error?: Error) => void) => {
    const doing = behave(moment, session)
    if (doing === undefined) go()
    else if (doing instanceof Promise) doing.then(() => go())
    else if (doing === 'drop') for (const one of server.connections) one.id === session.id && one._socket.destroy()
    else if (doing !== 'hang') go(Object.assign(new Error(doing.message), { responseCode: doing.code }))
  }
  const server: SMTPServer = new SMTPServer({
    authOptional: true,
    disabledCommands: options.cert ? [] : ['STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    ...options,
    onConnect: (session, done) => {
      sessions.add(session.id)
      mostAtOnce = Math.max(mostAtOnce, server.connections.size)
      act('greeting', session, done)
    },
    onMailFrom: (_address, session, done) => act('MAIL', session, done),
    onRcptTo: (_address, session, done) => act('RCPT', session, done),
    onData: (stream, session, done) => {
      buffer(stream).then(async (raw) => {
        await beforeAnswer?.()
        if (stream.sizeExceeded) return done(Object.assign(new Error('Too big'), { responseCode: 552 }))
        return act('END', session, (error) => {
          if (!error) mails.push(readMail(raw, session))
          done(error, 'taken')
        })
      }, done)
    },
  })
  const dropAll = () => {
    for (const { _socket } of server.connections) _socket.destroy()
  }
  server.on('error', () => {})
  const net = server.listen(0, '127.0.0.1')
  if (!net.listening) await once(net, 'listening')
  const address = net.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  return {
    url: `${scheme}://127.0.0.1:${port}`,
    mails,
    sessions,
    mostAtOnce: () => mostAtOnce,
    dropAll,
    stop: async () => {
      dropAll()
      await new Promise<void>((stopped) => server.close(() => stopped()))
    },
  }
}
